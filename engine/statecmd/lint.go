package statecmd

import "tavernsim/engine/statecmd/command"

// lint warns about options that are ignored, because they contradict the action or lack the
// option that they go with.
func (o *op) lint() {
	if o.e.Action == command.Ensure && o.o.IfMissing == command.No {
		o.warn(command.WarnIgnored, "ensure writes only what is missing; ifMissing:false was ignored")
	}
	if o.r.e.set.LintReason && o.o.Reason == "" {
		o.warn(command.WarnNoReason, "the entry gives no reason")
	}
	switch o.e.Action {
	case command.Delete:
		if o.o.SoftDelete != command.Yes && o.o.Expires(o.r.in.Now) != 0 {
			o.warn(command.WarnIgnored, "ttl on delete is the purge time of the recycle bin and needs softDelete:true; it was ignored")
		}
		o.lintBin()
	case command.Push:
		o.lintPush()
	case command.Pull:
		o.lintBin()
		o.lintPull()
	}
}

func (o *op) lintBin() {
	if o.o.RecycleBinKey != "" && o.o.SoftDelete != command.Yes {
		o.warn(command.WarnIgnored, "recycleBinKey needs softDelete:true; it was ignored, and what was removed is in no recycle bin")
	}
}

func (o *op) lintPush() {
	off := o.o.Dedupe == command.No
	if len(o.o.UniqueBy) > 0 && off {
		o.warn(command.WarnIgnored, "dedupe:false switches uniqueBy off")
	}
	if o.o.OnConflict != "" && (len(o.o.UniqueBy) == 0 || off) {
		o.warn(command.WarnIgnored, "onConflict is about the element that uniqueBy finds and needs uniqueBy; it was ignored")
	}
}

func (o *op) lintPull() {
	if o.o.Position != "" && o.o.Count == 0 {
		o.warn(command.WarnIgnored, "position on pull says at which end count begins and needs count; it was ignored")
	}
	if o.o.AllowMissing == command.No {
		o.warn(command.WarnIgnored, "pull from a list that does not exist is skipped; allowMissing:false was ignored")
	}
}
