package demo

import "animalstore/internal/shop"

// petNames lists the names for the animals. Within a category, each name is used once before any name is
// repeated.
var petNames = []string{
	"Ada", "Alfie", "Amber", "Anouk", "Archie", "Arlo", "Bailey", "Barney", "Basil", "Bella", "Biscuit", "Bonnie", "Bruno",
	"Bubbles", "Buddy", "Casper", "Čenda", "Charlie", "Chloé", "Clementine", "Cleo", "Clover", "Coco", "Cookie", "Daisy", "Dexter",
	"Django", "Dory", "Ella", "Elvis", "Felix", "Fiver", "Flocke", "Freya", "Fritz", "Frodo", "Ginger", "Gizmo", "Gustav", "Hazel",
	"Henri", "Holly", "Honey", "Hugo", "Iggy", "Indie", "Ingrid", "Ivy", "Jasper", "Juno", "Kaa", "Kiwi", "Koko", "Lady", "Leo", "Lilo",
	"Lola", "Loki", "Lotte", "Lucky", "Luna", "Mabel", "Maja", "Mango", "Marlin", "Max", "Mia", "Milo", "Minka", "Misty", "Mochi",
	"Momo", "Moritz", "Murphy", "Nala", "Nemo", "Ñoño", "Nugget", "Ōji", "Olive", "Ophelia", "Oreo", "Oskar", "Otis", "Otto", "Pablo",
	"Peach", "Pepper", "Pippa", "Poppy", "Puck", "Pumpkin", "Rango", "Rex", "Rio", "Rocky", "Rosie", "Ruby", "Rufus", "Saffron",
	"Sasha", "Shadow", "Shelly", "Simba", "Smokey", "Søren", "Stella", "Teddy", "Thor", "Tilly", "Toffee", "Tweety", "Urs", "Vanilla",
	"Waffles", "Willow", "Winnie", "Yuki", "Ziggy", "Zoë", "Zorro", "Żabka", "Жужа", "小白",
}

// customers lists texts for the reference field of orders.
var customers = []string{
	"Mrs Novák, calls on Friday", "Family Okafor", "Mr Lindqvist", "J. Moreau", "Priya S.", "Haruto, after school", "The Garcías",
	"Ms Fitzgerald", "deposit paid, Kowalski", "Dr Haas", "Amélie, with her father", "Family Ndiaye", "Mr and Mrs Rossi", "O'Brien, farm",
	"Yılmaz, will ring first", "T. Petrov", "the school in Mill Lane", "Sana K.", "birthday, keep quiet!", "Vet. practice Dr Berg",
}

// people are the customers of the orders that wait to be approved.
var people = []shop.Customer{
	{Name: "Eva Nováková", Phone: "+1 555 0101", Email: "eva@example.com"}, {Name: "Chidi Okafor", Phone: "+1 555 0102"},
	{Name: "Nils Lindqvist", Phone: "+1 555 0103", Email: "nils.lindqvist@example.org"}, {Name: "Jeanne Moreau", Email: "j.moreau@example.com"},
	{Name: "Priya Shah", Phone: "+1 555 0105", Email: "priya@example.net"}, {Name: "Haruto Sato", Phone: "+1 555 0106"},
}
