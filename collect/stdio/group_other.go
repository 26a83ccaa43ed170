//go:build unix && !linux

package stdio

import "syscall"

// attributes cannot tie the child to the life of this process here: when this process is
// killed, the child sees the end of its input and no more.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// Who is dead, and who descends from whom, cannot be told here.

func (m members) onlyDead() bool { return false }

func (m members) relatives() []relative { return nil }

func (r relative) alive() bool { return false }
