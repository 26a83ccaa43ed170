package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/text/unicode/norm"

	"agentsync/collect"
)

// root is one configuration folder of the client.
type root struct {
	dir     string // as configured, NFC
	name    string // "" for the first, root2, root3 … for further ones
	named   bool   // by the configuration: it is to be there
	several bool   // of several roots of its source
	follow  bool   // project folders that are links are followed
}

// resolveRoots applies the precedence: configured roots, the configured folder,
// CLAUDE_CONFIG_DIR as the source sets it or the process has it, the home folder.
func resolveRoots(cfg collect.SourceConfig, env collect.Env) ([]root, error) {
	dirs, named := cfg.Roots, true
	if len(dirs) == 0 {
		dir, err := configDir(cfg, env)
		if err != nil {
			return nil, err
		}
		dirs = []string{dir}
		named = cfg.ConfigDir != "" || cfg.Env["CLAUDE_CONFIG_DIR"] != ""
	}
	roots := make([]root, 0, len(dirs))
	for i, dir := range dirs {
		r := root{dir: norm.NFC.String(dir), named: named, several: len(dirs) > 1, follow: cfg.Symlinks == "follow"}
		if i > 0 {
			r.name = fmt.Sprintf("root%d", i+1)
		}
		roots = append(roots, r)
	}
	return roots, nil
}

func configDir(cfg collect.SourceConfig, env collect.Env) (string, error) {
	if cfg.ConfigDir != "" {
		return cfg.ConfigDir, nil
	}
	if dir := cfg.Env["CLAUDE_CONFIG_DIR"]; dir != "" {
		return dir, nil
	}
	if env.Getenv != nil {
		if dir := env.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
			return dir, nil
		}
	}
	if env.Home == "" {
		return "", errors.New("find claude's folder: no home folder, and neither configDir nor CLAUDE_CONFIG_DIR is set")
	}
	return filepath.Join(env.Home, ".claude"), nil
}

// placement is the root of the placements of what lies in it.
func (r root) placement() string {
	if r.several {
		return r.dir
	}
	return ""
}

func (r root) projects() string { return filepath.Join(r.dir, "projects") }

// presence says what stands where a root should be.
type presence uint8

const (
	present presence = iota
	absent
	bare       // the folder is there, and no projects in it
	unreadable // present, for all that can be told
)

// look checks the root and its projects folder without listing them. Links are followed,
// since a person named the one, and the other is the standard place. One that leads
// nowhere is there and cannot be read: its target may be a missing mount.
func (r root) look() (presence, error) {
	for _, path := range []string{r.dir, r.projects()} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			if _, broken := os.Lstat(path); broken == nil {
				return unreadable, &os.PathError{Op: "list", Path: path, Err: errors.New("a link to nothing")}
			}
			if path != r.dir {
				return bare, nil
			}
			return absent, nil
		}
		if err != nil {
			return unreadable, err
		}
		if !info.IsDir() {
			return unreadable, &os.PathError{Op: "list", Path: path, Err: errors.New("not a folder")}
		}
	}
	return present, nil
}
