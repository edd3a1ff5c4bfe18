package staff

import (
	"strings"

	"animalstore/internal/shop"
)

// maxDetail is the maximum length of a value in a preview, in bytes.
const maxDetail = 80

// importChanges returns the fields that a row of a preview changes.
func importChanges(row shop.PreviewRow) (changes []fieldChange) {
	texts := func(pet shop.PreviewPet) [3]string {
		return [3]string{pet.Name, categoryName(pet.Category, pet.CategoryID), string(pet.Status)}
	}
	return append(changedFields(texts(*row.Before), texts(row.After)), importDetails(row)...)
}

// importDetails returns the fields of the profile that a row of a preview sets or changes.
func importDetails(row shop.PreviewRow) (changes []fieldChange) {
	if row.ProfileAfter == nil {
		return nil
	}
	before := shop.Profile{}
	if row.ProfileBefore != nil {
		before = *row.ProfileBefore
	}
	for _, section := range profileSections() {
		for _, field := range section.Fields {
			from, to := field.shown(before), field.shown(*row.ProfileAfter)
			if from != to {
				changes = append(changes, fieldChange{strings.ToLower(field.Label[:1]) + field.Label[1:], from, to})
			}
		}
	}
	return changes
}

// shown returns the value of a field in a profile as a preview shows it. The currency is shown with the amount.
func (f profileField) shown(p shop.Profile) string {
	value := f.get(p)
	switch {
	case f.Name == "amount":
		return strings.TrimSpace(value + " " + p.Price.Currency)
	case f.Name == "currency", f.Name == "published" && value == "no":
		return ""
	case f.Kind == "date":
		return formatDay(value)
	}
	if len(f.Options) > 0 && value != "" {
		for _, option := range f.Options {
			if option.Value == value {
				return strings.ToLower(option.Label)
			}
		}
	}
	if cut := cutText(value, maxDetail); cut != value {
		return cut + "…"
	}
	return value
}

// importProblems returns the problems of a row as sentences in the words of the page.
func (p *Pages) importProblems(s *importSheet, row shop.PreviewRow) (sentences []string) {
	for member, reason := range row.Problems.All() {
		sentences = append(sentences, p.importProblem(s, member, reason))
	}
	return sentences
}

// importProblem says what is wrong with a row. A column is called by the title that it has in the file.
func (p *Pages) importProblem(s *importSheet, member, reason string) string {
	rest := func(prefix string) string {
		_, rest, _ := strings.Cut(reason, prefix)
		return rest
	}
	has := func(prefix string) bool { return strings.HasPrefix(reason, prefix) }
	switch {
	case member == "":
		return "The row " + reason + "."
	case member == "name" && (reason == "is required" || has("must have 1 to 200 characters, not 0")):
		return "The row has no name."
	case member == "categoryId" && reason == noCategory:
		return "The row has no category."
	case member == "category" && has("must be the name of an existing"):
		return "There is no such category. Add it under Categories first, or correct the name."
	case member == "category" && has("is ambiguous: "):
		number, _, _ := strings.Cut(rest("is ambiguous: "), " have this name")
		return "Several categories have this name: " + number + ". Give all but one of them another name first."
	case member == "category" && has("does not match categoryId: "):
		return "The name and the number of the category do not belong together: " + rest("does not match categoryId: ") + "."
	case member == "id" && has("must be the id"):
		return "There is no animal with this number. Remove the number to add the animal."
	case member == "id" && has("is the same as in line "):
		number, _, _ := strings.Cut(rest("is the same as in line "), ";")
		return "Row " + number + " has the same animal. Keep one of the two rows."
	case strings.HasSuffix(strings.ToLower(member), "etag"):
		return etagProblem(member, reason)
	case member == "status":
		return "The status " + p.word(strings.Replace(reason, "one of available, pending, sold", "available, pending or sold", 1)) + "."
	case member == "currency" && has("must be a currency code"):
		return p.word("The price needs a currency, such as EUR.")
	case member == "breeds":
		member = "breed"
	}
	if title := s.TitleOf(member); title != "" {
		return "“" + title + "” " + reason + "."
	}
	return p.fieldLabel(member) + " " + reason + "."
}

// etagProblem says what is wrong with the version of an animal or a profile in a row.
func etagProblem(member, reason string) string {
	what := "This animal"
	if member == "profileEtag" {
		what = "The profile of this animal"
	}
	switch {
	case strings.HasPrefix(reason, "is out of date"):
		return what + " has been changed since the file was exported. Export it again."
	case strings.HasPrefix(reason, "is required"):
		return "The row has the number of an animal, but not its version from the export. Export the animals and change that file, or remove the number to add the animal."
	}
	return "The row has the version of an animal, but not its number. Remove the version to add the animal."
}
