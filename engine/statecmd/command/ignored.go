package command

// Ignored says of options that the action takes why they are ignored all the same: they
// contradict it, or lack the option that they go with.
func (e *Entry) Ignored() (why []string) {
	o := e.Options
	if o == nil {
		return nil
	}
	if e.Action == Ensure && o.IfMissing == No {
		why = append(why, "ensure writes only what is missing; ifMissing:false was ignored")
	}
	if e.Action == Delete && o.SoftDelete != Yes && o.Expires(0) != 0 {
		why = append(why, "ttl on delete is the purge time of the recycle bin and needs softDelete:true; it was ignored")
	}
	if o.RecycleBinKey != "" && o.SoftDelete != Yes {
		why = append(why, "recycleBinKey needs softDelete:true; it was ignored, and what was removed is in no recycle bin")
	}
	if e.Action == Push {
		why = append(why, o.ignoredByPush()...)
	}
	if e.Action == Pull {
		why = append(why, o.ignoredByPull()...)
	}
	return why
}

func (o *Options) ignoredByPush() (why []string) {
	off := o.Dedupe == No
	if len(o.UniqueBy) > 0 && off {
		why = append(why, "dedupe:false switches uniqueBy off")
	}
	if o.OnConflict != "" && (len(o.UniqueBy) == 0 || off) {
		why = append(why, "onConflict is about the element that uniqueBy finds and needs uniqueBy; it was ignored")
	}
	return why
}

func (o *Options) ignoredByPull() (why []string) {
	if o.Position != "" && o.Count == 0 {
		why = append(why, "position on pull says at which end count begins and needs count; it was ignored")
	}
	if o.AllowMissing == No {
		why = append(why, "pull from a list that does not exist is skipped; allowMissing:false was ignored")
	}
	return why
}
