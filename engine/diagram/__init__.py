"""Draw a definition as a diagram: its flow, its layout, its picture, and the same in words."""
