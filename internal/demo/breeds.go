package demo

import "animalstore/internal/shop"

// breed is a breed or a species, and what its animals have in common.
type breed struct {
	name    string
	size    shop.Size
	euros   int      // what an animal costs, more or less
	drawing string   // a key of drawings
	colors  []string // keys of coats
	home    string   // what an animal needs, a sentence for the description; "" for what the category says
	tag     string   // a tag of every animal, or ""
}

// category is a category with its relative frequency and its breeds.
type category struct {
	name      string
	weight    int
	breeds    []breed
	traits    []shop.Trait // the questions that the shop answers for these animals
	oldest    int          // how many months old an animal can be when it arrives
	tags      []string
	portraits bool        // whether some animals also have a photo that shows them from near
	homes     string      // where the animals are kept in the shop
	texts     [2][]string // sentences for the description: what animals like, and what they need
	origins   []string    // sentences for the description, in place of those for animals of all categories
}

// categories lists the categories. The first one has id 1.
var categories = []category{
	{
		name: "Dogs", weight: 17, oldest: 96, homes: "Kennel", portraits: true, traits: shop.AllTraits(),
		tags: []string{"active", "calm", "loves water", "first dog", "needs a garden", "good on the lead"},
		texts: [2][]string{{
			"loves long walks, and a nap in the sun afterwards",
			"fetches every ball, and sometimes brings it back",
			"greets each visitor with a wagging tail",
			"knows sit and stay, and is working on the rest",
			"would do anything for a piece of cheese",
		}, {
			"is looking for people with time, and a sofa that may get hairy",
			"would suit a family with a garden",
			"feels best where somebody is at home during the day",
			"needs a few hours of exercise each day, whatever the weather",
		}},
		breeds: []breed{
			{name: "Beagle", size: shop.Medium, euros: 850, drawing: "dog", colors: []string{"brown and white", "black and white"}},
			{name: "Border Collie", size: shop.Medium, euros: 900, drawing: "dog with pricked ears", colors: []string{"black and white", "brown and white"}},
			{name: "Cocker Spaniel", size: shop.Medium, euros: 950, drawing: "dog", colors: []string{"golden", "chocolate", "black and white"}},
			{name: "Dachshund", size: shop.Small, euros: 1100, drawing: "dog", colors: []string{"chocolate", "brown and white"}},
			{name: "Golden Retriever", size: shop.Large, euros: 1200, drawing: "dog", colors: []string{"golden"}},
			{name: "Jack Russell", size: shop.Small, euros: 650, drawing: "dog", colors: []string{"white and brown"}},
			{name: "Labrador", size: shop.Large, euros: 1050, drawing: "dog", colors: []string{"golden", "chocolate", "black"}},
			{name: "Pug", size: shop.Small, euros: 900, drawing: "dog", colors: []string{"fawn", "black"}},
			{name: "Shiba Inu", size: shop.Medium, euros: 1500, drawing: "dog with pricked ears", colors: []string{"red and white", "fawn"}},
			{name: "Whippet", size: shop.Medium, euros: 1000, drawing: "dog", colors: []string{"grey", "fawn"}},
			{name: "German Shepherd", size: shop.ExtraLarge, euros: 1150, drawing: "dog with pricked ears", colors: []string{"chocolate", "black"}},
		},
	},
	{
		name: "Cats", weight: 21, oldest: 120, homes: "Room", portraits: true, traits: shop.AllTraits(),
		tags: []string{"indoor", "outdoor", "cuddly", "independent", "quiet", "bonded pair"},
		texts: [2][]string{{
			"sleeps in every box, the smaller the better",
			"purrs as soon as somebody sits down",
			"watches the birds outside for hours",
			"talks about dinner from four o'clock on",
			"climbs to the highest place of every room",
		}, {
			"is looking for a quiet home with a window to the street",
			"may go out, and always comes back in time for dinner",
			"has always lived indoors and should stay there",
			"gets along with nearly everybody, on conditions",
		}},
		breeds: []breed{
			{name: "Bengal", size: shop.Medium, euros: 1100, drawing: "cat", colors: []string{"orange tabby", "fawn"}},
			{name: "British Shorthair", size: shop.Medium, euros: 850, drawing: "cat", colors: []string{"grey"}},
			{name: "European Shorthair", size: shop.Medium, euros: 180, drawing: "cat", colors: []string{"orange tabby", "grey", "black", "white"}},
			{name: "Maine Coon", size: shop.Large, euros: 1200, drawing: "cat", colors: []string{"orange tabby", "chocolate"}},
			{name: "Norwegian Forest", size: shop.Large, euros: 900, drawing: "cat", colors: []string{"grey", "cream and brown"}},
			{name: "Persian", size: shop.Medium, euros: 800, drawing: "cat", colors: []string{"white", "golden"}},
			{name: "Ragdoll", size: shop.Large, euros: 1000, drawing: "cat", colors: []string{"cream and brown"}},
			{name: "Russian Blue", size: shop.Medium, euros: 950, drawing: "cat", colors: []string{"grey"}},
			{name: "Siamese", size: shop.Medium, euros: 750, drawing: "cat", colors: []string{"cream and brown"}},
			{name: "Sphynx", size: shop.Medium, euros: 1300, drawing: "cat", colors: []string{"fawn"}},
		},
	},
	{
		name: "Rabbits", weight: 14, oldest: 60, homes: "Pen", traits: []shop.Trait{shop.Neutered, shop.Vaccinated, shop.GoodWithChildren},
		tags: []string{"bonded pair", "curious", "shy", "outdoor", "cuddly"},
		texts: [2][]string{{
			"digs, hops and nibbles all day",
			"comes running when the bag with the hay rustles",
			"likes dandelions best, and apples second",
			"stretches out on the straw when all is well",
		}, {
			"should live with at least one other rabbit",
			"needs an enclosure with room to run",
			"may move into a safe garden in spring",
		}},
		breeds: []breed{
			{name: "Dutch", size: shop.Small, euros: 40, drawing: "rabbit", colors: []string{"black and white", "brown and white"}},
			{name: "English Angora", size: shop.Medium, euros: 70, drawing: "rabbit", colors: []string{"white", "grey"}},
			{name: "Flemish Giant", size: shop.ExtraLarge, euros: 80, drawing: "rabbit", colors: []string{"grey", "fawn"}},
			{name: "Lionhead", size: shop.Small, euros: 45, drawing: "rabbit", colors: []string{"fawn", "chocolate"}},
			{name: "Mini Lop", size: shop.Small, euros: 50, drawing: "rabbit with hanging ears", colors: []string{"fawn", "grey", "white"}},
			{name: "Netherland Dwarf", size: shop.Small, euros: 45, drawing: "rabbit", colors: []string{"chocolate", "grey"}},
			{name: "Rex", size: shop.Medium, euros: 55, drawing: "rabbit", colors: []string{"chocolate", "fawn"}},
		},
	},
	{
		name: "Birds", weight: 14, oldest: 84, homes: "Aviary",
		tags: []string{"talkative", "singer", "hand-tame", "pair", "needs company"},
		texts: [2][]string{{
			"sings as soon as the sun is up",
			"imitates the telephone of the shop",
			"likes millet, mirrors and company",
			"takes a bath every morning",
		}, {
			"should move in with others of the same kind",
			"needs a large cage, and an hour of flight each day",
			"is looking for people who like to be woken by song",
		}},
		breeds: []breed{
			{name: "African Grey", size: shop.Large, euros: 1200, drawing: "parrot", colors: []string{"grey"}},
			{name: "Budgerigar", size: shop.Small, euros: 25, drawing: "parrot", colors: []string{"green and yellow", "blue and white"}},
			{name: "Canary", size: shop.Small, euros: 40, drawing: "songbird", colors: []string{"yellow", "orange"}},
			{name: "Cockatiel", size: shop.Medium, euros: 90, drawing: "cockatiel", colors: []string{"grey", "yellow"}},
			{name: "Gouldian finch", size: shop.Small, euros: 120, drawing: "songbird", colors: []string{"green and yellow", "blue and white"}},
			{name: "Lovebird", size: shop.Small, euros: 80, drawing: "parrot", colors: []string{"green and red", "green and yellow"}},
			{name: "Zebra finch", size: shop.Small, euros: 20, drawing: "songbird", colors: []string{"grey"}},
		},
	},
	{
		name: "Reptiles", weight: 8, oldest: 180, homes: "Terrarium", traits: []shop.Trait{shop.SpecialNeeds},
		tags: []string{"calm", "for experts", "nocturnal", "papers"},
		texts: [2][]string{{
			"warms up under the lamp until noon",
			"watches everything that happens in the shop, and comments on nothing",
			"eats with appetite and sheds without trouble",
		}, {
			"needs a terrarium with warm and cool places",
			"is for people who know the species, or want to learn about it from us",
			"comes with papers, which have to be kept",
		}},
		breeds: []breed{
			{name: "Bearded dragon", size: shop.Medium, euros: 120, drawing: "lizard", colors: []string{"sand", "orange"}},
			{name: "Chameleon", size: shop.Medium, euros: 180, drawing: "lizard", colors: []string{"green and yellow"}},
			{name: "Corn snake", size: shop.Large, euros: 90, drawing: "snake", colors: []string{"red and orange", "orange"}},
			{name: "Crested gecko", size: shop.Small, euros: 110, drawing: "lizard", colors: []string{"sand", "olive"}},
			{name: "Hermann's tortoise", size: shop.Medium, euros: 150, drawing: "tortoise", colors: []string{"olive", "sand"}},
			{name: "Leopard gecko", size: shop.Small, euros: 80, drawing: "lizard", colors: []string{"yellow"}},
		},
	},
	{
		name: "Fish", weight: 14, oldest: 24, homes: "Aquarium",
		tags: []string{"peaceful", "easy to feed", "loves plants"},
		texts: [2][]string{{
			"swims to the front as soon as somebody opens the tin",
			"follows every finger along the glass",
			"shines most in the light of the evening",
		}},
		origins: []string{
			"comes from a breeder nearby",
			"was born in one of our own tanks",
			"has been swimming with us for a month, and eats well",
			"came with the aquarium of a family that moved abroad",
		},
		breeds: []breed{
			{name: "Angelfish", tag: "fresh water", home: "needs a tall tank of at least 200 litres, and calm neighbours", size: shop.Medium, euros: 15, drawing: "striped fish", colors: []string{"yellow", "blue and white"}},
			{name: "Betta", tag: "fresh water", home: "lives alone in a tank of at least 40 litres", size: shop.Small, euros: 12, drawing: "fish", colors: []string{"red and orange", "blue and yellow"}},
			{name: "Clownfish", tag: "salt water", home: "needs a salt water tank with an anemone to hide in", size: shop.Small, euros: 25, drawing: "striped fish", colors: []string{"orange"}},
			{name: "Discus", tag: "fresh water", home: "needs warm, soft water and others of the same kind", size: shop.Medium, euros: 60, drawing: "striped fish", colors: []string{"blue and yellow", "red and orange"}},
			{name: "Fantail goldfish", tag: "fresh water", home: "needs a tank of at least 120 litres, never a bowl", size: shop.Small, euros: 8, drawing: "fish", colors: []string{"orange", "yellow"}},
			{name: "Koi", tag: "pond", home: "needs a pond of at least 5,000 litres", size: shop.Large, euros: 45, drawing: "fish", colors: []string{"orange", "white and red"}},
			{name: "Pearl gourami", tag: "fresh water", home: "needs a tank of at least 100 litres with plants up to the surface", size: shop.Small, euros: 10, drawing: "fish", colors: []string{"sand", "blue and white"}},
		},
	},
	{
		name: "Small animals", weight: 12, oldest: 30, homes: "Cage", traits: []shop.Trait{shop.GoodWithChildren},
		tags: []string{"nocturnal", "pair", "curious", "hand-tame", "first pet"},
		texts: [2][]string{{
			"builds a new nest every other day",
			"runs for miles each night and sleeps until noon",
			"takes sunflower seeds from the hand",
			"squeaks when the fridge opens",
		}, {
			"should live with others of the same kind",
			"needs a large cage with places to hide",
			"is easy to keep, and good company in the evening",
		}},
		breeds: []breed{
			{name: "Chinchilla", size: shop.Small, euros: 90, drawing: "mouse", colors: []string{"grey"}},
			{name: "Degu", size: shop.Small, euros: 30, drawing: "mouse", colors: []string{"fawn"}},
			{name: "Ferret", size: shop.Medium, euros: 150, drawing: "ferret", colors: []string{"chocolate", "cream and brown"}},
			{name: "Guinea pig", size: shop.Small, euros: 30, drawing: "guinea pig", colors: []string{"brown and white", "black and white", "golden", "grey"}},
			{name: "Roborovski hamster", size: shop.Small, euros: 18, drawing: "hamster", colors: []string{"fawn"}},
			{name: "Syrian hamster", size: shop.Small, euros: 15, drawing: "hamster", colors: []string{"golden", "cream and brown"}},
			{name: "Fancy rat", size: shop.Small, euros: 20, drawing: "mouse", colors: []string{"white", "black and white"}},
		},
	},
}
