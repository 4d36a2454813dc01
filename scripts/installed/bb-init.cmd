@echo off
if exist "%~dp0python.exe" ("%~dp0python.exe" -I -m bb init %*) else ("%~dp0..\python.exe" -I -m bb init %*)
