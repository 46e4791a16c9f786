package workflow

// Waiting is the number of requests without an answer.
func (r *Run) Waiting() int {
	if r.done {
		return 0
	}
	return r.open
}

// Steps counts node attempts and nested workflows.
func (r *Run) Steps() int { return r.steps }
