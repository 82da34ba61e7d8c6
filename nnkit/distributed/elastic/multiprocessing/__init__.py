"""torch's name for what surrounds the processes of a job."""
