"""What makes responses, or makes them truer: templates, and a reranker of n-best lists."""
