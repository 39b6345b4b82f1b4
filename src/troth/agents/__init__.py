"""Assistants that call tools: are their calls right, do they stay so, and is what they say true?"""
