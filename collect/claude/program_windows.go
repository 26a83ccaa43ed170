package claude

// A program's file has one of these endings, and no permission says that it may be run.
var programSuffixes = []string{".exe", ".cmd", ".bat", ""}

const anyFileRuns = true
