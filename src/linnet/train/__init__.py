"""The one gradient loop, and what networks learn against."""
