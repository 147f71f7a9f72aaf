"""Read the nodes of a document into canonical values, collecting every finding."""
