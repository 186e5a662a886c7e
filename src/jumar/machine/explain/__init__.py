"""What an error, a code or a log means."""
