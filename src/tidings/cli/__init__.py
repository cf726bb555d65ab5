"""The command ``tidings``: stdout is data, stderr is progress; exit 0, 1 if it failed, 2 if it was misused."""
