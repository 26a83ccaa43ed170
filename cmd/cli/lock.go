package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"agentsync/ledger/durable"
)

// The pass locks, as files of the state folder. Each is held for a whole run and
// taken here only, before any lock that a room takes for itself.
const publishLock = "publish.lock"

// withLock runs a pass while it holds a pass lock, which another pass may hold for
// at most --wait.
func (v *invocation) withLock(ctx context.Context, state, name, verb string, pass func(context.Context) error) (err error) {
	files := durable.OS()
	if err := durable.MkdirPrivate(files, state); err != nil {
		return fmt.Errorf("open the state folder: %w", err)
	}
	who := durable.Holder{PID: os.Getpid(), Verb: "agentsync " + verb, Since: v.env.Now().UTC()}
	release, err := durable.Lock(ctx, files, filepath.Join(state, name), v.globals.wait, who)
	if err != nil {
		return err
	}
	defer func() {
		if released := release(); err == nil && released != nil {
			err = fmt.Errorf("release the pass lock: %w", released)
		}
	}()
	return pass(ctx)
}
