"""The records that everything else hands around; they compute nothing."""
