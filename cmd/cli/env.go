package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// defaultWidth is the number of columns when there is no terminal to ask.
const defaultWidth = 80

// Env is everything a pass may know of the process it runs in.
type Env struct {
	Now     func() time.Time
	Getenv  func(string) string
	Home    string // "" when there is none
	Dir     string // working directory, "" when it is gone
	Program string // path of this program, "" when it is not known
	Machine string // what tells this machine from others, "" when nothing does
	Temp    string // folder for files that live no longer than the pass

	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Terminal facts: whether each stream is one, and how many columns it has.
	StdinTerminal, StdoutTerminal, StderrTerminal bool
	Width                                         int
}

// Hooks of script tests: a clock, and a look at the context of a run.
var (
	testOnlyNow     func() time.Time
	testOnlyStarted func(context.Context)
)

// processEnv reads the process's own surroundings, once.
func processEnv(stdin io.Reader, stdout, stderr io.Writer) Env {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = ""
	}
	program, err := os.Executable()
	if err != nil {
		program = ""
	}
	env := Env{
		Now: time.Now, Getenv: os.Getenv, Home: home, Dir: dir, Program: program, Machine: thisMachine(), Temp: os.TempDir(),
		Stdin: stdin, Stdout: stdout, Stderr: stderr,
		StdinTerminal:  isTerminal(stdin),
		StdoutTerminal: isTerminal(stdout),
		StderrTerminal: isTerminal(stderr),
	}
	if testOnlyNow != nil {
		env.Now = testOnlyNow
	}
	env.Width = columns(stdout, os.Getenv("COLUMNS"))
	return env
}

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// columns asks the terminal, then the COLUMNS variable, and is 80 otherwise.
func columns(stdout io.Writer, variable string) int {
	if file, ok := stdout.(*os.File); ok {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(variable); err == nil && width > 0 {
		return width
	}
	return defaultWidth
}

// abs makes a path absolute against the working directory, with a leading ~ as the home.
func (e Env) abs(path string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if e.Home != "" {
			return filepath.Join(e.Home, path[1:])
		}
	}
	if path == "" || filepath.IsAbs(path) || e.Dir == "" {
		return path
	}
	return filepath.Join(e.Dir, path)
}
