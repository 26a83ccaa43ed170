package cli

import (
	"context"
	"errors"
	"io/fs"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
	"agentsync/publish"
)

// owners tell whose work a source's commands are.
type owners struct {
	installation string            // this one, "" when it has no name yet
	published    map[string]string // installation by source
	here         map[string]bool   // sources that are configured here
}

// sourceOwners looks who publishes which source, and which are configured here.
func sourceOwners(ctx context.Context, s *settings, target *publish.Target) (*owners, error) {
	o := &owners{published: make(map[string]string), here: make(map[string]bool)}
	var err error
	if o.installation, err = installation(s.State); err != nil {
		return nil, err
	}
	for _, source := range s.sources {
		if id, err := collect.SourceID(source.ID); err == nil {
			o.here[id] = true
		}
	}
	view, err := target.View(ctx)
	if errors.Is(err, publish.ErrEmpty) {
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	for _, source := range view.Root().Sources {
		o.published[source.ID] = source.Installation
	}
	return o, nil
}

// of says whose a source is: that of the installation that publishes it, or this one's
// when it is configured here and nobody does.
func (o *owners) of(source string) worker.Owner {
	installation, published := o.published[source]
	switch {
	case published && installation != o.installation:
		return worker.Elsewhere
	case o.here[source]:
		return worker.Ours
	}
	return worker.Nobody
}

// state is what a command of a source is that nobody claimed.
func (o *owners) state(source string) string {
	switch o.of(source) {
	case worker.Ours:
		return stateWaiting
	case worker.Elsewhere:
		return stateElsewhere
	}
	return stateUnowned
}

// installation reads this installation's name, "" when there is none yet.
func installation(folder string) (string, error) {
	if _, err := durable.OS().Lstat(folder); folder == "" || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	state, err := ledger.OpenState(durable.OS(), folder)
	if err != nil {
		return "", err
	}
	name, err := ledger.ReadInstallation(state)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return name, err
}
