"""What must change in a code base so that it runs on Ascend NPUs, and the change itself."""
