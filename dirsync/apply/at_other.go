//go:build !linux

package apply

import (
	"os"
)

// Elsewhere entries are moved by path. The directories on the way were checked just
// before; RACE: one of them can be replaced by a link in between. os.Root then keeps
// the move below the root.

func moveNew(stage *folder, staged string, dir *folder, name string) error {
	if err := os.Link(stage.Name()+"/"+staged, dir.Name()+"/"+name); err != nil {
		return err
	}
	return stage.Remove(staged)
}

func exchange(*folder, string, *folder, string) (bool, error) { return false, nil }

func moveOver(stage *folder, staged string, dir *folder, name string) error {
	return os.Rename(stage.Name()+"/"+staged, dir.Name()+"/"+name)
}
