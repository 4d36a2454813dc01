@echo off
if exist "%~dp0python.exe" ("%~dp0python.exe" -I -m bb %*) else ("%~dp0..\python.exe" -I -m bb %*)
