"""Access to the file system and to other programs: whole files, locks, child processes, files in a work tree."""
