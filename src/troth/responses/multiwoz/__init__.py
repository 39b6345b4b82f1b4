"""Whole dialogues on MultiWOZ, as mwzeval scores them: Inform, Success, Combined and lexical richness."""
