package models

import (
	"slices"

	"tavernsim/protocol"
)

func hasImages(m protocol.ModelMessage) bool { return len(m.Images) > 0 }

func found(i protocol.Image) bool { return i.Found }

// withoutFound leaves out the pictures that calls have brought, for a model that reads none:
// the text of the result names them. Pictures that the workflow shows stay, and are refused.
func withoutFound(list []protocol.ModelMessage) []protocol.ModelMessage {
	if !slices.ContainsFunc(list, func(m protocol.ModelMessage) bool { return slices.ContainsFunc(m.Images, found) }) {
		return list
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Images = slices.DeleteFunc(slices.Clone(list[i].Images), found)
	}
	return list
}
