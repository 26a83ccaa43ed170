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

// state is what the system tells of a process.
type state struct {
	pid, parent, group int
	dead               bool   // it has ended and waits for its parent to look
	started            uint64 // clock ticks since the system's start
}

// onlyDead reports that every member that is still listed has ended. In a container,
// nobody may ever look at the dead. What cannot be read may live.
func (m members) onlyDead() bool {
	found := false
	for _, s := range states() {
		if s.group == int(m) && !s.dead {
			return false
		}
		found = found || s.group == int(m)
	}
	return found // without one, this /proc does not show the group
}

// relatives returns the leader's descendants that have a group of their own. Agents
// start their tools so, and not all end them.
func (m members) relatives() []relative {
	all := states()
	ours := map[int]bool{int(m): true}
	for grown := true; grown; {
		grown = false
		for _, s := range all {
			if ours[s.parent] && !ours[s.pid] {
				ours[s.pid], grown = true, true
			}
		}
	}
	var found []relative
	for _, s := range all {
		if ours[s.pid] && s.group != int(m) && !s.dead {
			found = append(found, relative{s.pid, s.started})
		}
	}
	return found
}

// alive reports whether it still is the process that it was.
func (r relative) alive() bool {
	s, ok := stateOf(strconv.Itoa(r.pid))
	return ok && s.started == r.started && !s.dead
}

// states returns the state of every process that can be seen.
func states() []state {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []state
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if s, ok := stateOf(name); ok {
			all = append(all, s)
		}
	}
	return all
}

func stateOf(number string) (state, bool) {
	text, err := os.ReadFile("/proc/" + number + "/stat")
	if err != nil {
		return state{}, false // it has ended since
	}
	return parseState(text)
}

// parseState reads a stat file: number (name) state parent group …, and a name may hold
// anything. The 22nd field is the time of its start.
func parseState(stat []byte) (s state, ok bool) {
	end := bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if end < 0 || len(fields) < 20 {
		return s, false
	}
	first, _, _ := bytes.Cut(stat, []byte(" "))
	s.pid, _ = strconv.Atoi(string(first))
	s.parent, _ = strconv.Atoi(string(fields[1]))
	s.group, _ = strconv.Atoi(string(fields[2]))
	s.started, _ = strconv.ParseUint(string(fields[19]), 10, 64)
	s.dead = fields[0][0] == 'Z' || fields[0][0] == 'X'
	return s, true
}
