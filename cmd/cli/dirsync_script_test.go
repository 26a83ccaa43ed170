package cli

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// grab VARIABLE PATTERN: sets a variable to what the pattern's group matched in the last
// standard output.
func grab(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: grab VARIABLE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	match := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(match) != 2 {
		ts.Fatalf("no match for %s", args[1])
	}
	ts.Setenv(args[0], match[1])
}

// picture FILE FOLDER…: writes down every name below the folders with its kind, mode and
// content.
func picture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: picture FILE FOLDER...")
	}
	var b strings.Builder
	for _, folder := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s %s", info.Mode(), filepath.ToSlash(path))
			switch info.Mode().Type() {
			case 0:
				content, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " %x", sha256.Sum256(content))
			case fs.ModeSymlink:
				target, err := os.Readlink(path)
				if err != nil {
					return err
				}
				fmt.Fprintf(&b, " -> %s", target)
			}
			b.WriteByte('\n')
			return nil
		}))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// files FOLDER FROM TO TEXT: writes files whose names are numbers.
func files(ts *testscript.TestScript, neg bool, args []string) {
	var from, to int
	if neg || len(args) != 4 {
		ts.Fatalf("usage: files FOLDER FROM TO TEXT")
	}
	_, err := fmt.Sscan(args[1]+" "+args[2], &from, &to)
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs(args[0]), 0o755))
	for n := from; n <= to; n++ {
		ts.Check(os.WriteFile(filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("%02d.txt", n)), fmt.Appendf(nil, "%s %d\n", args[3], n), 0o644))
	}
}
