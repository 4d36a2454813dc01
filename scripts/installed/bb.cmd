@echo off
if exist "%~dp0python.exe" ("%~dp0python.exe" -m bb %*) else ("%~dp0..\python.exe" -m bb %*)
