package programs

// A program's file has one of these endings, and no permission says that it may be run.
var endings = []string{".exe", ".com", ".cmd", ".bat", ""}

const everyFileRuns = true
