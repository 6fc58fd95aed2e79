"""Read the documents: XML, texts of pages, descriptions, our own XML about what is not copied."""
