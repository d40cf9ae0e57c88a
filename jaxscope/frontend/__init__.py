"""What a browser asks of the kernel: texts, figures, widgets."""
