"""Results for people: tables for papers and terminals."""
