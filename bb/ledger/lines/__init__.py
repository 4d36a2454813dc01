"""What bb keeps of uncommitted lines: a log for each changed file, the contents it names, and what commits them."""
