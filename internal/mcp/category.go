package mcp

import (
	"context"
	"fmt"
	"strings"

	"animalstore/client"
)

func (set *toolSet) addCategoryTools() {
	add(set, "list_categories", "List the categories", client.ScopePetsRead, reads,
		"Lists the categories of animals by ascending id, with their names, such as Dogs. A category that has no name yet is known by its id "+
			"only. If more is true, there may be more than the answer shows: search with text.",
		listCategories)
}

type listCategoriesInput struct {
	Text  string `json:"text,omitempty" jsonschema:"only categories whose name contains this text, in any letter case"`
	Limit limit  `json:"limit,omitempty" jsonschema:"how many categories at most; 20 unless given"`
}

type categoryList struct {
	Categories []client.Category `json:"categories"`
	More       bool              `json:"more" jsonschema:"whether there may be more categories that match"`
}

// maxCategories is the maximum number of categories that one call reads to find a name. The API cannot search
// categories, and few stores have more than one page of them.
const maxCategories = 1000

func listCategories(ctx context.Context, s session, in listCategoriesInput) (categoryList, error) {
	list := categoryList{Categories: []client.Category{}}
	read := 0
	for category, err := range s.Categories(ctx) {
		if err != nil {
			return list, err
		}
		if read++; read > maxCategories || len(list.Categories) == in.Limit.orDefault() {
			list.More = true
			break
		}
		if strings.Contains(strings.ToLower(category.Name), strings.ToLower(in.Text)) {
			list.Categories = append(list.Categories, category)
		}
	}
	return list, nil
}

func (l categoryList) text() string {
	text := listText("category", "categories", l.Categories, func(c client.Category) string {
		if c.Name == "" {
			return fmt.Sprintf("category %d, without a name", c.ID)
		}
		return fmt.Sprintf("category %d: %q", c.ID, c.Name)
	})
	if l.More {
		text += "\nThere may be more."
	}
	return text
}
