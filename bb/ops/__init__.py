"""What users and programs can ask of bb. An op is declared once; every face derives its own form from the
declaration."""
