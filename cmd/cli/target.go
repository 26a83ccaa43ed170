package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"agentsync/cmd/config"
	"agentsync/publish"
)

// readerSettings are the settings of a verb that only reads a store. Such a verb needs
// no place for a state folder when the store lies elsewhere; State is "" then.
func (v *invocation) readerSettings() (*settings, error) {
	_, err := config.Load(v.globals.config, v.configEnv())
	var missing *config.SetupError
	if v.globals.state != "" || !errors.As(err, &missing) {
		return v.settings()
	}
	nowhere := filepath.Join(filepath.VolumeName(v.env.Dir)+string(filepath.Separator), "no-state-folder")
	v.globals.state = nowhere
	defer func() { v.globals.state = "" }()
	s, again := v.settings()
	if again != nil || strings.HasPrefix(s.Store.Path, nowhere) {
		return nil, err
	}
	s.State = ""
	return s, nil
}

// reading opens the store for a verb that only reads. It needs neither
// a state folder nor a home when the store is named, and writes what is new of the store
// into a state folder that is there.
func (v *invocation) reading(ctx context.Context) (s *settings, target *publish.Target, done func(), err error) {
	if s, err = v.readerSettings(); err != nil {
		return nil, nil, nil, err
	}
	target, done, err = v.openReader(ctx, s)
	return s, target, done, err
}
