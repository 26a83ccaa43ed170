//go:build unix

package stdio

import (
	"errors"
	"os/exec"
	"syscall"
)

// members is the number of a process group, which is its leader's.
type members int

// startMembers starts the command in a session of its own, which is a group of its own
// without a terminal: no agent can stop and wait for somebody to type.
func startMembers(cmd *exec.Cmd) (members, error) {
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return members(cmd.Process.Pid), nil
}

func (m members) ask()  { _ = syscall.Kill(-int(m), syscall.SIGTERM) }
func (m members) kill() { _ = syscall.Kill(-int(m), syscall.SIGKILL) }

func (m members) empty() bool {
	return errors.Is(syscall.Kill(-int(m), 0), syscall.ESRCH) || m.onlyDead()
}

func (m members) release() {}

func (r relative) ask()  { _ = syscall.Kill(r.pid, syscall.SIGTERM) }
func (r relative) kill() { _ = syscall.Kill(r.pid, syscall.SIGKILL) }
