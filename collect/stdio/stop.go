package stdio

import "time"

const (
	outsiderWait = 250 * time.Millisecond // for the output of who left the group, once the group is gone
	stuckWait    = 5 * time.Second        // for a killed leader: longer is a fault of the system
)

// Stop ends the child: it closes standard input, waits for grace, asks the whole group to
// end, waits for grace again, and kills it. On Linux it also ends what descends from the
// child outside its group, as the tools of some agents do; a process whose parents have
// left it alone, a daemon, is not ended. It returns when nothing of that is left. What was
// not read is lost. Any goroutine may call it, more than once.
func (p *Process) Stop(grace time.Duration) {
	if !within(p.gone, 0) {
		p.group.look()
	}
	_ = p.CloseInput()
	gone := within(p.gone, grace)
	if !gone {
		p.group.ask()
		gone = within(p.gone, grace)
	}
	if !gone {
		p.group.kill()
		gone = within(p.gone, stuckWait)
	}
	p.stopped.Store(true)
	_ = p.stdout.Close()
	p.readOnce.Do(func() { close(p.read) })
	if gone { // otherwise the system holds what was killed, and nobody knows for how long
		<-p.done
	}
}

// within waits for a channel to be closed, and reports whether it was before the limit.
func within(closed <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-closed:
		return true
	case <-timer.C:
	}
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// awaitReader returns when stdout was read to its end. The group is gone by now, so the
// pipe ends with what it holds, unless a process outside the group holds it open: when
// the same read has waited for one whole period, nothing more is to come, and stdout is
// closed.
func (p *Process) awaitReader() {
	for last := int64(-1); !within(p.read, outsiderWait); {
		call := p.calls.Load()
		if p.waiting.Load() && call == last {
			p.outsider.Store(true)
			_ = p.stdout.Close()
			<-p.read
			return
		}
		last = call
	}
}
