"""Programs written for torch, answered by nnkit."""
