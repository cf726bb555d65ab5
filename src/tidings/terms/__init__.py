"""What is a publication made of? Terms: words, values, topics, cells, intervals; their numbers and frequencies."""
