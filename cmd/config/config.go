package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"agentsync/collect"
)

// Env is what the configuration may know of the process it is read in.
type Env struct {
	Getenv func(string) string // nil stands for an empty environment
	Home   string              // "" when there is none
	Goos   string              // whose paths and standard folders are meant; "" is linux
	Dir    string              // working folder, for relative paths that were typed; "" when unknown

	// State and Store are the flags of the same names. They go before AGENTSYNC_STATE
	// and AGENTSYNC_STORE, and those before the file.
	State, Store string
	// Drivers are the known drivers' names; nil is the three standard ones.
	Drivers []string
}

func (e Env) getenv(name string) string {
	if e.Getenv == nil {
		return ""
	}
	return e.Getenv(name)
}

func (e Env) system() system { return system(e.Goos) }

// Config is a settled configuration: every path absolute, every default filled in.
type Config struct {
	File      string // the file it was read from, "" when there is none
	Store     StoreURL
	State     string
	Sources   []collect.SourceConfig // as written, in order, disabled ones included; empty without a file
	Checkouts []string
	Redact    bool
}

// File is what a configuration file says, before paths are settled.
type File struct {
	Store     string
	Sources   []collect.SourceConfig
	Checkouts []string
	Redact    string // on, off, or "" when the file does not say
}

// Load reads the configuration at path; "" is AGENTSYNC_CONFIG or, without it, the
// standard place (DefaultFile), where the file may be missing: then Sources is empty
// and the caller looks for agents. A file that was named must exist. Mistakes in the
// file are one *InvalidError that lists them all, anything else that can be mended
// by typing is a *SetupError.
func Load(path string, env Env) (Config, error) {
	name, text, err := readNamed(path, env)
	if err != nil {
		return Config{}, err
	}
	config := Config{File: name, Redact: redactDefault}
	if config.State, err = stateFolder(env); err != nil {
		return Config{}, err
	}
	r := newReader(firstOf(name, "configuration"), env)
	file := r.file(text)
	if name != "" {
		r.settleFile(&file, env.system().parent(name))
	}
	config.Sources, config.Checkouts = file.Sources, file.Checkouts
	if file.Redact != "" {
		config.Redact = file.Redact == "on"
	}
	config.Store, err = r.store(file.Store, config)
	if err != nil {
		return Config{}, err
	}
	if err := sorted(r.problems); err != nil {
		return Config{}, err
	}
	return config, nil
}

// Parse reads the text of a configuration file without settling its paths. Mistakes
// are one *InvalidError; name stands for the file in them.
func Parse(name string, text []byte, env Env) (File, error) {
	r := newReader(name, env)
	file := r.file(text)
	return file, sorted(r.problems)
}

// readNamed finds and reads the file; its name is "" when there is none and none was
// asked for.
func readNamed(path string, env Env) (name string, text []byte, err error) {
	asked := firstOf(path, env.getenv("AGENTSYNC_CONFIG"))
	if asked == "" {
		name = DefaultFile(env)
		if name == "" {
			return "", nil, nil
		}
	} else if name, err = env.system().settle(asked, env.Dir, env.Home); err != nil {
		return "", nil, &SetupError{fmt.Errorf("read configuration %s: %w", asked, err), "--config FILE, an absolute path"}
	}
	text, err = readLimited(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && asked == "":
		return "", nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, &SetupError{fmt.Errorf("read configuration: %w", err), writeConfigHint + name}
	case err != nil:
		return "", nil, fmt.Errorf("read configuration: %w", err)
	}
	return name, text, nil
}

// readLimited reads a file that cannot be larger than a configuration is.
func readLimited(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxFile)
	}
	return text, err
}

// store settles which store is meant: the one typed, that of the file, or the folder
// store in the data folder.
func (r *reader) store(inFile string, config Config) (StoreURL, error) {
	s := r.env.system()
	var own StoreURL
	if inFile != "" {
		var err error
		if own, err = ParseStore(inFile, s.parent(config.File), r.env); err != nil {
			r.problem("store", err.Error(), "")
		}
	}
	if asked := firstOf(r.env.Store, r.env.getenv("AGENTSYNC_STORE")); asked != "" {
		store, err := ParseStore(asked, r.env.Dir, r.env)
		if err != nil {
			return StoreURL{}, &SetupError{fmt.Errorf("name the store: %w", err), "--store is " + storeForms}
		}
		return store, nil
	}
	if inFile != "" {
		return own, nil
	}
	return StoreURL{Scheme: "file", Path: s.join(dataFolder(r.env, config.State), storeName)}, nil
}
