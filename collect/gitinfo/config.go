package gitinfo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// errAskGit says that an answer depends on something that only the git program is
// trusted with. It never leaves the package.
var errAskGit = errors.New("needs the git program")

const (
	maxConfig   = 4 << 20 // bytes of one configuration file
	maxIncludes = 10      // nested included files, as in Git
)

// readConfig parses one configuration file; nil when there is none.
func readConfig(name string) (*config.Config, error) {
	info, err := os.Stat(name)
	if absent(err) {
		return nil, nil
	}
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return nil, fmt.Errorf("%w: cannot read %s", errAskGit, name)
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: cannot read %s", errAskGit, name)
	}
	parsed, err := parseConfig(string(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not plain", err, name)
	}
	return parsed, nil
}

// parseConfig parses what go-git is known to parse as Git does. It keeps the line
// break of a continued line, which Git drops.
func parseConfig(text string) (*config.Config, error) {
	if strings.Contains(text, "\\\n") || strings.Contains(text, "\\\r") {
		return nil, errAskGit
	}
	parsed := config.New()
	if err := config.NewDecoder(strings.NewReader(text)).Decode(parsed); err != nil {
		return nil, errAskGit
	}
	return parsed, nil
}

// section returns the sections of a name, whatever its case.
func section(c *config.Config, name string) *config.Section {
	if c != nil {
		for _, one := range c.Sections {
			if one.IsName(name) {
				return one
			}
		}
	}
	return &config.Section{}
}

// includes reads configuration files that others include.
type includes struct {
	home string // for ~/
}

// immaterial checks that the files which c includes hold nothing that an answer
// depends on, so that neither their conditions nor their order matter. Folder is
// that of c's own file.
func (in includes) immaterial(c *config.Config, folder string, depth int) error {
	if depth > maxIncludes {
		return errAskGit
	}
	for _, option := range section(c, "include").Options {
		if err := in.immaterialFile(option, folder, depth); err != nil {
			return err
		}
	}
	for _, condition := range section(c, "includeIf").Subsections {
		for _, option := range condition.Options {
			if err := in.immaterialFile(option, folder, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (in includes) immaterialFile(option *config.Option, folder string, depth int) error {
	if !strings.EqualFold(option.Key, "path") {
		return nil
	}
	name := option.Value
	switch {
	case name == "" || strings.HasPrefix(name, "%(prefix)/"):
		return errAskGit
	case strings.HasPrefix(name, "~/") && in.home != "":
		name = filepath.Join(in.home, name[2:])
	case strings.HasPrefix(name, "~"):
		return errAskGit
	case !filepath.IsAbs(name):
		name = filepath.Join(folder, name)
	}
	included, err := readConfig(name)
	if err != nil {
		return err
	}
	if material(included) {
		return errAskGit
	}
	return in.immaterial(included, filepath.Dir(name), depth+1)
}

// material reports configuration that names remotes or rewrites addresses.
func material(c *config.Config) bool {
	return len(section(c, "remote").Subsections) > 0 || len(section(c, "url").Subsections) > 0
}

// systemFiles are the places of the system-wide configuration, over the usual
// builds of Git. Which of them counts depends on the build.
var systemFiles = []string{
	"/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig", "/opt/local/etc/gitconfig",
	"/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig",
	"/Applications/Xcode.app/Contents/Developer/usr/share/git-core/gitconfig",
	`C:\Program Files\Git\etc\gitconfig`, `C:\ProgramData\Git\config`,
}

// userConfig reads the configuration that holds for every repository, in Git's
// order. It is errAskGit when only the git program can tell.
func userConfig(home string, getenv func(string) string) ([]*config.Config, error) {
	in := includes{home: home}
	if !isTrue(getenv("GIT_CONFIG_NOSYSTEM")) {
		files := systemFiles
		if own := getenv("GIT_CONFIG_SYSTEM"); own != "" {
			files = []string{own}
		}
		for _, name := range files {
			c, err := readConfig(name)
			if err != nil {
				return nil, err
			}
			if material(c) {
				return nil, errAskGit
			}
			if err := in.immaterial(c, filepath.Dir(name), 0); err != nil {
				return nil, err
			}
		}
	}
	var layers []*config.Config
	for _, name := range globalFiles(home, getenv) {
		c, err := readConfig(name)
		if err != nil {
			return nil, err
		}
		if err := in.immaterial(c, filepath.Dir(name), 0); err != nil {
			return nil, err
		}
		layers = append(layers, c)
	}
	return layers, nil
}

// globalFiles are the user's own configuration files, in Git's order.
func globalFiles(home string, getenv func(string) string) []string {
	if own := getenv("GIT_CONFIG_GLOBAL"); own != "" {
		return []string{own}
	}
	var files []string
	if xdg := getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	return files
}

// isTrue reads a switch as Git does.
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}
