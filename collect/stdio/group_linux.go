package stdio

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// attributes ask the system to kill the child when the thread that starts it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// onlyDead reports that every member that is still listed has ended and waits for its
// parent to look. In a container that can take for ever. What cannot be read may live.
func (m members) onlyDead() bool {
	folder, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return false
	}
	found := false
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		state, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended since
		}
		group, dead := parseState(state)
		if group == int(m) && !dead {
			return false
		}
		found = found || group == int(m)
	}
	return found // without one, this /proc does not show the group
}

// parseState reads the group of a process, and whether it has ended, from its stat file:
// number (name) state parent group …, and a name may hold anything.
func parseState(stat []byte) (group int, dead bool) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 {
		return 0, false
	}
	group, _ = strconv.Atoi(string(fields[2]))
	return group, fields[0][0] == 'Z' || fields[0][0] == 'X'
}
