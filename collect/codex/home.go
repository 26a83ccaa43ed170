package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"agentsync/collect"
)

// home is one Codex home folder.
type home struct {
	dir     string
	name    string // "" for the first, root2, root3 … for further ones
	named   bool   // by the configuration: it is to be there
	several bool   // of several homes of its source
	follow  bool   // links to folders and files below its two folders are followed
}

// homes applies the precedence: configured roots, the configured home, CODEX_HOME as
// the source sets it or the process has it, the folder .codex in the person's home.
func homes(cfg collect.SourceConfig, env collect.Env) ([]home, error) {
	dirs, named := cfg.Roots, true
	if len(dirs) == 0 {
		dir, err := homeDir(cfg, env)
		if err != nil {
			return nil, err
		}
		dirs = []string{dir}
		named = cfg.CodexHome != "" || cfg.Env["CODEX_HOME"] != ""
	}
	list := make([]home, len(dirs))
	for i, dir := range dirs {
		list[i] = home{dir: filepath.Clean(dir), named: named, several: len(dirs) > 1, follow: cfg.Symlinks == "follow"}
		if i > 0 {
			list[i].name = fmt.Sprintf("root%d", i+1)
		}
	}
	return list, nil
}

func homeDir(cfg collect.SourceConfig, env collect.Env) (string, error) {
	if cfg.CodexHome != "" {
		return cfg.CodexHome, nil
	}
	if dir := cfg.Env["CODEX_HOME"]; dir != "" {
		return dir, nil
	}
	if env.Getenv != nil {
		if dir := env.Getenv("CODEX_HOME"); dir != "" {
			return dir, nil
		}
	}
	if env.Home == "" {
		return "", errors.New("find codex's home: no home folder, and neither codexHome nor CODEX_HOME is set")
	}
	return filepath.Join(env.Home, ".codex"), nil
}

// placement is the root of the placements of what lies in the home.
func (h home) placement() string {
	if h.several {
		return h.dir
	}
	return ""
}

// presence says what stands where a folder should be.
type presence uint8

const (
	present presence = iota
	absent
	unreadable // it is there, for all that can be told
)

// look tells what stands at a path, the home or one of its two folders, without listing
// it. Links are followed, since a person named the one, and the others are the standard
// places. One that leads nowhere is there and cannot be read: its target may be a missing
// mount.
func look(path string) (presence, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, broken := os.Lstat(path); broken == nil {
			return unreadable, &fs.PathError{Op: "list", Path: path, Err: errors.New("a link to nothing")}
		}
		return absent, nil
	case err != nil:
		return unreadable, err
	case !info.IsDir():
		return unreadable, &fs.PathError{Op: "list", Path: path, Err: errors.New("not a folder")}
	}
	return present, nil
}
