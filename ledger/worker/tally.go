package worker

// tally counts what is unfinished and tells when nothing is. Its worker's mutex guards it.
type tally struct {
	n    int
	zero chan struct{} // closed while n is 0
}

func newTally() tally {
	zero := make(chan struct{})
	close(zero)
	return tally{zero: zero}
}

func (t *tally) add(delta int) {
	if t.n == 0 {
		t.zero = make(chan struct{})
	}
	t.n += delta
	if t.n == 0 {
		close(t.zero)
	}
}

// spawn runs work in a goroutine that Drain waits for.
func (w *Worker) spawn(work func()) {
	w.locked(func() { w.spawnLocked(work) })
}

func (w *Worker) spawnLocked(work func()) {
	w.hands.add(1)
	go func() {
		defer w.locked(func() { w.hands.add(-1) })
		work()
	}()
}

func (w *Worker) locked(act func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	act()
}

// count changes the statistics.
func (w *Worker) count(change func(*Stats)) { w.locked(func() { change(&w.stats) }) }
