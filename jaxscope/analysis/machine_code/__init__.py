"""The program below HLO: XLA's thunks, the LLVM IR of each kernel, its machine code."""
