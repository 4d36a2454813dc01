@echo off
if exist "%~dp0python.exe" ("%~dp0python.exe" -m bb init %*) else ("%~dp0..\python.exe" -m bb init %*)
