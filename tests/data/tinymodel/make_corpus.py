#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a corpus of short children's stories from a hand-written grammar.

Every sentence comes from the tables and templates in this file (long by them) and in plots.txt;
nothing is copied from elsewhere. The same seed always gives the same bytes. Stories are separated by
one line that holds only "<|end|>".

Template language:  [a|b|]   one of the alternatives, which may nest or be empty
                    {slot}   a value of this story, or a shared rule; {Slot} capitalises it
                    @x = t   (plots.txt) chooses a value once and keeps it for the whole story

usage: make_corpus.py --out DIR [--mb 30] [--seed 1] [--valid-kb 100] [--valid-seed 2]
"""
import argparse
import os
import random
import re

GIRLS = """Mina Clara Nora Ada Ivy Ruby Tess Lena Poppy Hazel Wren Zoe Maya Elsie Faye Greta Hana Isla
June Kira Lola Maud Nell Olive Petra Rosa Suki Tilda Una Vera Willa Yara Anya Bea Dora""".split()
BOYS = """Ned Otto Hugo Felix Oscar Theo Milo Ravi Sami Arlo Ben Cole Dan Eli Finn Gus Hank Ivan
Jonas Kofi Leo Marco Nico Omar Pablo Quinn Rory Seth Tariq Uri Victor Walt Yusuf Zack Bram""".split()
PET_NAMES = """Pip Dot Bumble Tuft Nib Fig Moss Button Pebble Biscuit Clover Mop Pepper Thimble
Puddle Nutmeg Crumb Ginger""".split()
SPECIES = """rabbit|hopped
fox|trotted
mouse|scurried
bear|padded
hedgehog|shuffled
squirrel|skipped
otter|splashed
badger|marched
mole|tiptoed
beaver|waddled
kitten|crept
puppy|bounded""".splitlines()

ADULTS = """Mom|she her her
Dad|he him his
Grandma|she her her
Grandpa|he him his
Aunt Flora|she her her
Uncle Bert|he him his
Aunt Sunita|she her her
Uncle Jo|he him his""".splitlines()
NEIGHBOURS = """Mrs. Bell|she her her
Mr. Oak|he him his
Mrs. Rossi|she her her
Mr. Patel|he him his
Mrs. Lund|she her her
Mr. Grey|he him his
Miss Plum|she her her
Mr. Kato|he him his""".splitlines()

# noun | adjectives | to play: infinitive | past tense
OBJECTS = """ball|red,round,bouncy,striped|bounce it on the path|bounced it on the path
kite|blue,paper,long,bright|fly it in the wind|flew it in the wind
drum|little,loud,tin,yellow|tap it with two sticks|tapped it with two sticks
boat|wooden,tiny,white,toy|float it in the tub|floated it in the tub
train|green,toy,shiny,wooden|push it along the floor|pushed it along the floor
doll|soft,rag,pretty,old|dress it in a tiny coat|dressed it in a tiny coat
teddy bear|brown,fluffy,sleepy,old|hug it at bedtime|hugged it at bedtime
car|red,toy,fast,silver|roll it down the ramp|rolled it down the ramp
whistle|silver,shiny,small,loud|blow it three times|blew it three times
book|thick,heavy,old,blue|read it by the window|read it by the window
hat|straw,purple,floppy,warm|wear it every day|wore it every day
scarf|woolly,orange,long,soft|wrap it around {his} neck|wrapped it around {his} neck
cup|blue,painted,little,favorite|fill it with warm milk|filled it with warm milk
puppet|funny,sock,green,silly|make it talk in a squeaky voice|made it talk in a squeaky voice
robot|tin,square,silver,clever|wind it up and watch it walk|wound it up and watched it walk
spoon|wooden,big,shiny,silver|stir the soup with it|stirred the soup with it
basket|round,brown,little,strong|fill it with pretty things|filled it with pretty things
lantern|paper,golden,small,round|hang it by the door|hung it by the door
flute|wooden,thin,sweet,old|play a soft tune on it|played a soft tune on it
bell|brass,tiny,bright,golden|ring it in the morning|rang it in the morning
marble|green,glass,shiny,smooth|roll it across the rug|rolled it across the rug
shell|pink,smooth,curly,white|hold it to {his} ear|held it to {his} ear
feather|white,long,soft,blue|tickle {his} own nose with it|tickled {his} own nose with it
button|golden,round,big,shiny|spin it on the table|spun it on the table
key|old,rusty,tiny,brass|wear it on a string|wore it on a string
map|folded,old,secret,yellow|look for treasure with it|looked for treasure with it
umbrella|yellow,big,spotted,red|twirl it in the rain|twirled it in the rain
mitten|red,warm,woolly,striped|wave it like a flag|waved it like a flag
blanket|soft,blue,cozy,old|make a tent with it|made a tent with it
pencil|green,sharp,thin,short|draw long roads with it|drew long roads with it
paintbrush|thin,soft,fine,wooden|paint big skies with it|painted big skies with it
puzzle|wooden,hard,tricky,big|do it on the floor|did it on the floor
rope|long,strong,yellow,thick|skip with it in the yard|skipped with it in the yard
wagon|red,little,wooden,squeaky|pull it up the hill|pulled it up the hill
bucket|blue,tin,small,shiny|carry water in it|carried water in it
magnet|strong,black,little,round|pick up pins with it|picked up pins with it
ribbon|pink,silky,long,purple|twirl it in the air|twirled it in the air
stone|flat,smooth,grey,speckled|skip it on the water|skipped it on the water
crown|paper,golden,shiny,silly|wear it like a king|wore it like a king
top|spinning,wooden,striped,fast|spin it on a plate|spun it on a plate
necklace|bead,green,long,pretty|wear it to every party|wore it to every party
compass|brass,old,round,tiny|find the way north with it|found the way north with it""".splitlines()

# name | at | to | hiding spots | sights
PLACES = """garden|in the garden|to the garden|under a big leaf,behind the watering can,next to the roses,between two pots|Bees hummed over the flowers.,The beans had climbed up their poles.,A snail slept on the gate.
park|in the park|to the park|under the bench,behind the oak tree,beside the fountain,in the tall grass|The swings moved in the wind.,Pigeons walked along the path.,A man was selling balloons.
beach|at the beach|to the beach|under the sand,behind a big rock,beside a tide pool,inside an old boat|The waves came in and went out again.,Gulls called over the water.,The sand was warm and soft.
forest|in the forest|to the forest|under a fern,inside a hollow log,behind a mossy stump,between the roots|Light fell through the leaves.,A woodpecker knocked on a tree.,The air smelled of pine.
meadow|in the meadow|to the meadow|in the clover,behind the fence,under a daisy,next to the stream|Butterflies danced over the grass.,The grass was as high as a cow's knee.,Crickets sang all around.
hill|on the hill|to the hill|behind a bush,under a flat stone,in the heather,beside the old wall|From the top they could see the whole town.,The wind was always strong there.,Sheep rested in the shade.
river|by the river|to the river|between the reeds,under the bridge,behind a willow,beside the stepping stones|The water ran over the stones.,A heron stood on one leg.,Little fish flashed in the sun.
farm|on the farm|to the farm|behind the hay,under the cart,inside the milk pail,next to the pig pen|Hens scratched in the dust.,A cow looked over the wall.,The barn door was wide open.
pond|by the pond|to the pond|under the dock,between the lilies,behind the tall reeds,beside the frog's rock|Ducks made rings on the water.,A dragonfly sat on a reed.,The pond was as still as a mirror.
playground|at the playground|to the playground|under the slide,behind the seesaw,in the sandbox,next to the swings|Children laughed on the slide.,The seesaw went up and down.,Somebody had drawn a sun on the ground.
orchard|in the orchard|to the orchard|under a ladder,behind a barrel,beneath the pear tree,in the long grass|Apples shone in every tree.,Wasps buzzed around the sweet fruit.,The branches hung low.
market|at the market|to the market|under a table,behind the melons,between two boxes,beside the flower stall|People called out their prices.,The stalls were full of fruit.,It smelled of bread and fish.
library|in the library|to the library|behind a row of books,under the round table,on the lowest shelf,beside the globe|It was very quiet.,Dust floated in the light.,The shelves went up to the ceiling.
attic|in the attic|to the attic|inside an old trunk,behind a lamp,under a quilt,beside a broken clock|Everything was covered with dust.,A spider was busy in the corner.,The floor creaked at every step.
kitchen|in the kitchen|to the kitchen|under the stove,behind the flour jar,inside the big pot,next to the sink|A kettle sang on the stove.,The table was white with flour.,It smelled of fresh bread.
barn|in the barn|to the barn|under the hay,behind the ladder,inside a bucket,next to the horse's stall|Swallows flew in and out.,A horse chewed slowly.,The hay smelled sweet.
school|at school|to school|under a desk,behind the piano,inside the paint box,next to the coat hooks|Pictures hung on every wall.,Chalk dust lay on the board.,The bell rang at noon.
harbor|at the harbor|to the harbor|under a net,behind a barrel,inside a coil of rope,beside a wooden crate|Boats rocked in the water.,A sailor was mending a sail.,The air tasted of salt.
valley|in the valley|to the valley|behind a round rock,under a pine,beside the brook,in the bushes|Mist lay over the fields.,A little road ran between the farms.,Far away a dog barked.
village|in the village|to the village|behind the well,under the baker's cart,beside the clock tower,next to the bakery|The clock tower struck ten.,The baker waved from his door.,Cats slept on the warm steps.""".splitlines()

# noun | adjectives | sound | went | food | home
ANIMALS = """bird|small,grey,young,thin|chirped|flew|seeds|nest
cat|orange,shy,striped,old|meowed|crept|fish|basket
dog|brown,friendly,muddy,big|barked|ran|a bone|kennel
duck|yellow,little,lost,white|quacked|waddled|bread crumbs|nest
frog|green,tiny,jumpy,round|croaked|hopped|flies|pond
rabbit|white,soft,timid,grey|squeaked|hopped|carrots|burrow
squirrel|red,quick,hungry,little|chattered|scampered|nuts|tree
hedgehog|prickly,sleepy,little,brown|snuffled|shuffled|beetles|leaf pile
turtle|slow,old,green,small|sighed|crawled|lettuce|pond
owl|wise,young,white,sleepy|hooted|flew|moths|hollow tree
goat|hungry,white,stubborn,young|bleated|jumped|grass|shed
lamb|woolly,little,white,lost|bleated|skipped|milk|field
pony|spotted,gentle,small,brown|neighed|trotted|apples|stable
mouse|tiny,grey,clever,shy|squeaked|scurried|cheese|hole
hen|plump,brown,busy,speckled|clucked|strutted|corn|coop
pig|pink,round,muddy,happy|oinked|trotted|turnips|pen
fox|red,young,sly,thin|yelped|slipped|berries|den
beetle|shiny,black,small,green|clicked|crawled|leaves|log
crab|red,funny,little,shy|clicked its claws|scuttled|seaweed|rock pool
puppy|spotted,playful,wet,lonely|whined|bounced|biscuits|basket
kitten|black,fluffy,lost,hungry|mewed|tiptoed|milk|box
swan|white,proud,young,lonely|hissed|glided|water plants|lake
deer|shy,graceful,young,brown|snorted|leaped|leaves|forest
bee|fuzzy,busy,little,tired|buzzed|flew|honey|hive
snail|slow,spotted,quiet,tiny|said nothing|slid|salad leaves|shell
robin|bold,round,cheerful,little|sang|fluttered|worms|nest
donkey|grey,gentle,stubborn,old|brayed|plodded|thistles|stable
butterfly|blue,yellow,bright,delicate|made no sound|fluttered|nectar|flower""".splitlines()

FOODS = """apple pie|a slice of
honey cake|a piece of
warm bread|a slice of
tomato soup|a bowl of
plum jam|a spoon of
berry tart|a piece of
hot cocoa|a cup of
lemon cake|a slice of
rice pudding|a bowl of
pumpkin soup|a bowl of
cheese|a piece of
banana bread|a slice of
noodles|a plate of
peach ice cream|a scoop of
ginger cookies|a plate of
carrot cake|a slice of
pancakes|a plate of
mint tea|a cup of
popcorn|a bag of
cherry pie|a slice of
vegetable stew|a bowl of
oat cookies|a tin of""".splitlines()

# things to count: plural | singular | past tense of collecting | where
COUNTABLES = """apples|apple|picked|orchard
shells|shell|gathered|beach
stones|stone|collected|river
leaves|leaf|gathered|park
eggs|egg|found|farm
buttons|button|found|attic
feathers|feather|collected|meadow
acorns|acorn|gathered|forest
berries|berry|picked|hill
flowers|flower|picked|meadow
pears|pear|picked|orchard
pine cones|pine cone|collected|forest
pumpkins|pumpkin|gathered|farm
plums|plum|picked|garden
chestnuts|chestnut|gathered|park
carrots|carrot|pulled up|garden
nuts|nut|gathered|forest
tulips|tulip|picked|garden
mushrooms|mushroom|picked|forest""".splitlines()

# thing to build | parts | tool | use
BUILDS = """tree house|boards, nails and a rope ladder|a hammer|look at the stars from it
sandcastle|sand, shells and sticks|a spade|play kings and queens in it
birdhouse|thin boards and a round lid|a small saw|watch the birds move in
raft|logs and thick rope|a knife|float across the water on it
fort|blankets, chairs and pillows|six clothes pegs|tell stories inside it
snowman|three big balls of snow|a shovel|dance around it
bridge|flat stones and a plank|a spade|cross the stream with dry feet
puppet stage|a big box and red cloth|a pair of scissors|put on a show
scarecrow|straw, an old coat and a hat|a needle|keep the crows away
go-cart|a crate and four wheels|a wrench|ride down the lane
windmill|paper, a pin and a long stick|a pair of scissors|see which way the wind blows
bench|two logs and a smooth plank|a hammer|sit in the sun together
doghouse|boards and a piece of tin|a hammer|keep the dog dry
swing|a plank and two ropes|a drill|fly up to the leaves
dollhouse|cardboard and glue|a pair of scissors|give every doll a room
stone tower|flat stones from the brook|four careful hands|mark the way home""".splitlines()

SKILLS = """ride a bike|rode the bike|The wheels wobbled
whistle|whistled a tune|Only air came out
swim|swam across the pool|Water went up {his} nose
skate|skated in a circle|The ice was slippery
tie {his} shoes|tied both shoes|The laces slipped away
juggle|juggled three balls|The balls rolled everywhere
read|read the whole page|The letters seemed to dance
climb a rope|climbed to the top|The rope burned {his} hands
play the drum|played a steady beat|The sticks fell down
fly a kite|flew the kite high|The kite dropped like a stone
knit|knitted a small scarf|The wool made a big knot
row a boat|rowed to the other side|The boat went around in circles
bake bread|baked a golden loaf|The dough stuck to {his} fingers
dance|danced until the song ended|Left foot stepped on right foot
write {his} name|wrote {his} name without help|One letter looked backward""".splitlines()

FEARS = """thunder|It was only the clouds bumping together|count slowly until the sound is over
the dark|The dark is only the day asleep|leave the door open a little
the deep water|The water can hold you like a hand|start where you can stand
the big dog next door|The dog only wants to say hello|hold out your hand slowly
the tall slide|The slide is just a hill with shiny shoes|hold on with both hands
spiders|A spider is a tiny weaver|look at it from far away first
the old stairs|Old stairs like to talk, that is all|sing on every step
the wind at night|The wind is only looking for somebody to play with|pull the blanket up to your chin
the first day of school|Everybody there has a first day too|say your name and smile
the dentist|The dentist only wants to count your teeth|squeeze a soft toy
the high bridge|The bridge has carried many feet before yours|look at the other side, not down
the shadow on the wall|It is just the coat on the hook|say hello to it""".splitlines()

QUESTIONS = """does the moon follow us|The moon is so far away that it seems to walk with everybody
do leaves fall down|The tree is getting ready to sleep, so it puts its leaves away
is the sea salty|Rivers carry a little salt from the rocks, and the sea keeps it
do birds fly away in winter|They go where it is warm and where there is food
does it rain|The clouds get heavy with water, and then they let it go
do bees love flowers|Flowers give them sweet juice, and the bees turn it into honey
do cats purr|Purring is how a cat says that all is well
does bread grow in the oven|Tiny bubbles are trapped in the dough, and heat makes them big
do stars twinkle|Their light shakes a little on its way through the air
does ice float|Ice is lighter than water, so it rides on top
do we sleep|Sleep lets our bodies grow and our heads rest
is the sky blue|The air scatters blue light everywhere, so blue is all we see
does the river never stop|New rain feeds it every day, high up in the hills
do snails carry their houses|A snail is slow, so it takes its home along
do onions make us cry|An onion makes a sharp gas, and tears wash it away
does an echo answer|The hill throws your voice back like a ball""".splitlines()

FRUITS = 'apple pear plum lemon melon orange'.split()
COLORS = 'red blue green yellow orange purple'.split()
VESSELS = 'cup vase teapot bowl plate jug'.split()
TREASURES = """round stone|golden button|white feather|pink shell|tiny key|blue bead|silver coin|smooth pebble|
glass marble|green ribbon|brass bell|curly leaf""".replace('\n', '').split('|')
ORDINALS = 'third fourth fifth sixth seventh eighth ninth tenth'.split()
KIN = {'Mom': 'mom', 'Dad': 'dad', 'Grandma': 'grandma', 'Grandpa': 'grandpa', 'Aunt Flora': 'aunt',
       'Uncle Bert': 'uncle', 'Aunt Sunita': 'aunt', 'Uncle Jo': 'uncle'}

NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen twenty""".split()

# Shared rules: used by many plots, and free to use any slot of the story.
RULES = {
    'open': """[Once there was {who}|There once was {who}|{Who} lived [near|next to|not far from] {theplace}|
        In a [small|quiet|little white|red brick] house lived {who}|This is a story about {who}].
        [{Hero} was [always|very|often] [{trait}|{trait} and {trait2}].|{Hero} loved to {hobby}.|
        Everybody [liked {hero}|knew {hero}], because {he} was so {trait}.|]""",
    'day': """[One day|One morning|One afternoon|On a {weather} day|On a {weather} morning|
        One {season} day|Early one {season} morning|Last {weekday}|On {weekday}]""",
    'go': """[{Day}, {hero} [went|walked|ran|{moved}] {toplace}|{Day}, {hero} was {atplace}|
        {Day}, {hero} and {friend} went {toplace} together|{Day}, {hero} [played|was playing] {atplace}].
        [{sight}|]""",
    'sad': """[{He} felt [sad|very sad|small and sad|lonely].|A tear ran down {his} [cheek|nose].|
        {His} eyes filled with tears.|{His} heart felt heavy.|{He} [sat down|sighed] and looked at {his} feet.]""",
    'glad': """[{He} smiled from ear to ear.|{He} was so [happy|glad|proud] that {he} [danced|jumped up and down|sang].|
        {His} heart felt [light|warm].|{He} laughed [out loud|with joy].|{He} felt [warm inside|as tall as a tree].]""",
    'bothglad': """[They both laughed.|They hugged.|The two friends [smiled|danced|held hands].|
        Both of them were [happy|glad].|They laughed until their [bellies|cheeks] hurt.]""",
    'think': """[{He} thought about it [for a while|for a long time|very hard].|{He} [scratched|shook] {his} head.|
        Then {he} had an idea.|"What can I do?" {he} [asked|wondered|whispered].|{He} took a deep breath.]""",
    'end': """[From then on, {hero} and {friend} were [best friends|good friends].|That night {hero} [slept very well|fell asleep with a smile|dreamed sweet dreams].|
        {Hero} [never forgot|always remembered] that day.|And they all [walked|went] home [before dark|together|singing].|
        It was [a good|the best|a very good] day.|{Lesson}|{Lesson}|{Lesson}|The end.|]""",
    'thanks': """["Thank you," said {hero}.|"Thank you, {friend}," said {hero}.|"Thank you so much!" said {hero}.|
        "You are a real friend," said {hero}.|"I am lucky to have you," said {hero}.]""",
    # Single sentences that fit nearly everywhere, for the free stories and between others.
    'filler': """[[It began to rain.|The sun came out.|The wind blew.|It was getting dark.|It was very quiet.|The moon came up.|
        Somewhere a dog barked.|A clock struck {n1}.|The air smelled of [rain|flowers|bread|snow|hay].]|
        {Hero} [hummed a little song|looked around|rubbed {his} nose|sat down for a moment|took a deep breath|yawned|laughed|
        counted to {sum}|listened|looked at the sky|smiled|waited|nodded].|
        A {aadj2} bee flew by.|A [cloud|bird|leaf|butterfly] passed over {him}.|
        "[What a nice day|I wonder why|Let me see|One moment|How strange|Well, well]," said {hero}.|
        {Hero} thought of [{adult}|home|{food}|the {animal}|tomorrow].]""",
    'someone': '[{hero}|{hero}|{friend}|{friend}|{adult}]',
    'where': '[{spot}|{spot2}|on the table|in the grass|under the bed|by the door|in the box|on a stone|near the well|behind the house]',
    'free': """[{filler}|{filler}|{Someone} [picked up|looked at|hugged|washed|carried|dropped|held|hid|found|painted|lost|fixed|liked] the {noun}.|
        The {obj} [was|lay|stood] {where}.|{Someone} put the {noun} {where}.|{Someone} [wanted|asked for|ate|cooked|made|brought] {afood}.|
        {Friend} [came|ran up|waved|laughed|smiled|sang|nodded|called|was tired|fell down|got up|was there too].|
        {Friend} gave {hero} [{afood}|a {treasure}|a {obj2}|a hug|{n1} {items}|the {noun}].|
        {Hero} gave {friend} [{afood}|a {treasure}|a {obj2}|a hug|{n1} {items}|the {noun}].|
        {Adult} [told them a story about a {animal}|made tea|opened the window|gave {hero} a {treasure}|gave {hero} a tiny seed|
        smiled|laughed|shook {ahis} head|called them|lit a lamp|knew the way].|
        A {aadj} {animal} {went} [by|over the path|along the wall|toward {hero}|out of its {nest}].|
        The {animal} {sound}[| again| two times| very softly].|The {animal} [was {aadj}|wanted {eats}|looked at {someone}|sat {where}|fell asleep].|
        "[Look|Listen|Wait|Come here|Stop|Hello|Oh no]!" [said|called|cried|whispered] {someone}.|
        "[May I|Can I] [hold|see|have|carry|paint|wash|open] the {noun}?" asked {friend}. "[Yes|Of course|Not now|Be careful|No|If you like]," said {hero}.|
        "Where is [my {noun}|the {noun}|the {animal}|{adult}]?" asked {hero}. "[It is {where}|I do not know|Look {where}|Ask {neighbour}]," said {friend}.|
        "I am [hungry|tired|happy|cold|sad|afraid of {fear}|sorry|late|ready|not sure]," said {friend}. "[I know|That is fine|Me too|Come with me]," said {hero}.|
        "Do you like [{food}|the {noun}|{theplace}|{items}]?" asked {friend}. "[Yes, very much|A little|Not at all|I think so]," said {hero}.|
        {Hero} was [afraid of {fear}|happy|sad|tired|angry|very quiet|surprised|proud|hungry|{trait}|cold|alone].|
        {Hero} [liked to|wanted to|began to|tried to|loved to] [{hobby}|{skill}|{play}].|{Hero} {skilled}.|{Hero} {played}.|
        {Hero} and {friend} {played_two}.|{Hero} and {friend} [built|wanted to build|looked at|dreamed of] a {build}.|
        {Hero} found {n1} {items} {where}.|{Someone} had {n1} {items}.|{Neighbour} [waved|lived next door|asked for help|had a {obj2}|came by|laughed].|
        [Then|After that|Later|Soon|At last|Suddenly|In the morning|In the evening|On {weekday}|The next day], {hero} [went home|fell asleep|
        ran {toplace}|went {toplace}|saw a {aadj} {animal}|heard a sound|woke up|found a {treasure}|met {friend}|had an idea|began to laugh].|
        Then they went {toplace}.|They were {atplace}.|{Hero} was {atplace}.|{think}|{sight}|
        Why {question}? {answer}.|{He} [remembered|missed] [{adult}|{friend}|the {animal}|home].]""",
    'start': """[{open}|{Hero} had a {obj}.|{Hero} and {friend} were {atplace}.|{Adult} gave {hero} a {obj}.|{Hero} was {atplace}.|
        {Day}, {hero} and {friend} went {toplace}.|{Day}, {hero} woke up.|It was {season}.|It was {weekday}.|The {animal} {sound}.|{free}]""",
    'thanks_f': """["Thank you for the soup," said {friend}.|"You made me well again," said {friend}.|"The soup helped," said {friend}.]""",
    'thanks_n': """["Thank you, {neighbour}," said {hero}.|"You saved my kite," said {hero}.|"That was very brave," said {friend}.]""",
    'a_odd': '[a dry leaf|an old shoe|a rusty nail|a lost sock|a sleepy {animal}]',
    'a_gift': '[a {treasure}|a {obj2}|a drawing of a {animal}|{n1} {fruit}s|a song]',
    'played_both': '[played together until it got dark|played until dinner|took turns all afternoon|played with it the whole day]',
    'played_short': '[played with it|had fun with it|tried it|got to hold it]',
    'played_two': '[played catch|built a tower|drew a map|played hide and seek|looked at a book]',
    'two_eyes': 'two [black stones|buttons|chestnuts|pieces of coal]',
    'spot_in': '[under the floor|in a barrel|behind the moon|in an old boot]',
    'sight_in': '[The clock ticked.|Rain ran down the window.|The house was quiet.|A fly walked over the floor.]',
    'day_low': '[one day|one morning|this morning|on {weekday}]',
    'animal_nest': '[bird on its eggs|squirrel asleep|robin in its nest|sleeping owl]',
}

TRAITS = """kind brave curious cheerful gentle clever patient helpful polite careful quiet friendly
honest busy playful thoughtful""".split()
HOBBIES = """paint|sing|draw|run|read|climb trees|look at clouds|count things|tell jokes|dance|collect stones|
build things|ask questions|listen to stories|watch birds|cook|swim|jump in puddles|make up songs|dig""".replace('\n', '').split('|')
WEATHERS = 'sunny windy rainy cloudy cold warm foggy bright snowy stormy'.split()
SEASONS = 'spring summer autumn winter'.split()
WEEKDAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split()

TOKEN = re.compile(r'[\[\]|]|\{\w+\}|[^\[\]|{}]+')


def parse(text):
    """Parses template text into a list of nodes: str, ('slot', name) or ('choice', [lists of nodes])."""
    tokens = TOKEN.findall(re.sub(r'\s+', ' ', text))
    pos = 0

    def sequence(nested):
        nonlocal pos
        alternatives, nodes = [], []
        while pos < len(tokens):
            token = tokens[pos]
            pos += 1
            if token == '[':
                nodes.append(('choice', sequence(True)))
            elif token == ']' and nested:
                return alternatives + [nodes]
            elif token == '|' and nested:
                alternatives.append(nodes)
                nodes = []
            elif token[0] == '{':
                nodes.append(('slot', token[1:-1]))
            elif token in '[]|':
                raise ValueError('stray %r in: %s' % (token, text))
            else:
                nodes.append(token)
        if nested:
            raise ValueError('open bracket in: ' + text)
        return nodes

    return sequence(False)


class Plot:
    def __init__(self, name, lets, paragraphs):
        self.name = name.split('!')[0].strip()
        self.flags = set(name.split('!')[1:])
        self.lets = [(key, parse(value)) for key, value in lets]
        self.paragraphs = [parse(p) for p in paragraphs]


def read_plots(path):
    plots = []
    with open(path, encoding='utf-8') as file:
        for block in re.split(r'^== ', file.read(), flags=re.M)[1:]:
            name, _, body = block.partition('\n')
            lets = re.findall(r'^@(\w+) = (.*)$', body, flags=re.M)
            body = re.sub(r'^@.*$', '', body, flags=re.M)
            paragraphs = [p for p in re.split(r'\n\s*\n', body.strip()) if p.strip()]
            plot = Plot(name.strip(), lets, paragraphs)
            plots.extend([plot] * (8 if 'often' in plot.flags else 1))
    return plots


PARSED_RULES = {key: parse(value) for key, value in RULES.items()}
TITLES = ('Mrs.', 'Mr.')
AN = re.compile(r'\b([Aa]) (?=[aeiouAEIOU])(?!one|use|uni)')


class Story:
    """One story: fixed choices of hero, friend, place, things; then the words."""

    repeats = False

    def __init__(self, rng, plots):
        self.left = {}
        self.rng = rng
        self.plot = rng.choice(plots)
        self.slots = {}
        self.choose_people()
        self.choose_world()
        for key, nodes in self.plot.lets:
            self.slots[key] = self.expand(nodes)

    def pronouns(self, prefix, words):
        for key, word in zip(('he', 'him', 'his'), words.split()):
            self.slots[prefix + key] = word
        self.slots[prefix + 'self'] = {'she': 'herself', 'he': 'himself'}[words.split()[0]]

    def choose_people(self):
        rng, s = self.rng, self.slots
        animal = 'child' not in self.plot.flags and rng.random() < 0.2
        girl = rng.random() < 0.5
        size = rng.choice(['little', 'small', 'young', ''])
        if animal:
            species, s['moved'] = rng.choice(SPECIES).split('|')
            s['hero'], s['friend'] = rng.sample(PET_NAMES, 2)
            kind = species
        else:
            s['moved'] = rng.choice(['skipped', 'walked', 'hurried', 'ran'])
            s['hero'] = rng.choice(GIRLS if girl else BOYS)
            s['friend'] = rng.choice(GIRLS + BOYS)
            while s['friend'] == s['hero']:
                s['friend'] = rng.choice(GIRLS + BOYS)
            kind = 'girl' if girl else 'boy'
        s['kind'] = kind
        s['who'] = 'a %s %s %s %s' % (size, kind, rng.choice(['named', 'called']), s['hero'])
        self.pronouns('', 'she her her' if girl else 'he him his')
        friend_girl = rng.random() < 0.5 if animal else s['friend'] in GIRLS
        self.pronouns('f', 'she her her' if friend_girl else 'he him his')
        s['fkind'] = 'girl' if friend_girl else 'boy'
        for key, prefix, table in (('adult', 'a', ADULTS), ('neighbour', 'n', NEIGHBOURS)):
            s[key], words = rng.choice(table).split('|')
            self.pronouns(prefix, words)

    def choose_world(self):
        rng, s = self.rng, self.slots
        s['trait'], s['trait2'] = rng.sample(TRAITS, 2)
        s['hobby'] = rng.choice(HOBBIES)
        s['weather'], s['season'] = rng.choice(WEATHERS), rng.choice(SEASONS)
        s['weekday'] = rng.choice(WEEKDAYS)

        noun, adjectives, play, played = rng.choice(OBJECTS).split('|')
        adjective = rng.choice(adjectives.split(','))
        s.update(noun=noun, obj=adjective + ' ' + noun,
                 play=play.format_map(s), played=played.format_map(s))
        other = rng.choice(OBJECTS).split('|')
        while other[0] == noun:
            other = rng.choice(OBJECTS).split('|')
        s.update(noun2=other[0], obj2=rng.choice(other[1].split(',')) + ' ' + other[0])

        items, item, collected, where = rng.choice(COUNTABLES).split('|')
        n, m = rng.randint(2, 10), rng.randint(1, 10)
        s.update(items=items, item=item, collected=collected, n=NUMBERS[n], m=NUMBERS[m],
                 sum=NUMBERS[n + m], n1=NUMBERS[n + 1], n2=NUMBERS[n + 2], n3=NUMBERS[n + 3], m1=NUMBERS[m + 1],
                 less=NUMBERS[n + m - 1], nth=rng.choice(ORDINALS), nth4=rng.choice(ORDINALS[1:5]))
        s.update(fruit=rng.choice(FRUITS), colorword=rng.choice(COLORS), vessel=rng.choice(VESSELS),
                 pretty=rng.choice(['blue', 'white', 'flowered', 'painted', 'thin']),
                 shellword=rng.choice(['pink', 'curly', 'shiny', 'white', 'tiny']),
                 treasure=rng.choice(TREASURES), grown_plain=KIN[s['adult']],
                 grown_plain2=rng.choice(sorted(set(KIN.values()))),
                 aadj2=rng.choice(['busy', 'fuzzy', 'round', 'golden']),
                 animal_fly=rng.choice(['bird', 'butterfly', 'bee', 'fish in the sky']))

        places = [p for p in PLACES if p.startswith(where + '|')] if 'count' in self.plot.flags else PLACES
        if 'outdoor' in self.plot.flags:
            places = PLACES[:11]
        place, at, to, spots, sights = rng.choice(places).split('|')
        s.update(place=place, atplace=at, toplace=to, theplace=to[3:],
                 spot=rng.choice(spots.split(',')), sight=rng.choice(sights.split(',')))
        s['spot2'] = rng.choice([x for x in spots.split(',') if x != s['spot']])

        options = [a for a in ANIMALS if a.split('|')[0] != s['kind']]
        animal, adjectives, sound, went, eats, nest = rng.choice(options).split('|')
        s.update(animal=animal, aadj=rng.choice(adjectives.split(',')), sound=sound, went=went,
                 eats=eats, nest=nest)
        s['animal_b'] = rng.choice([a.split('|')[0] for a in options if not a.startswith(animal)])

        food, portion = rng.choice(FOODS).split('|')
        s.update(food=food, afood=portion + ' ' + food)
        thing, parts, tool, use = rng.choice(BUILDS).split('|')
        s.update(build=thing, parts=parts, tool=tool, use=use)
        skill, done, trouble = (t.format_map(s) for t in rng.choice(SKILLS).split('|'))
        s.update(skill=skill, skilled=done, trouble=trouble)
        s['fear'], s['truth'], s['advice'] = rng.choice(FEARS).split('|')
        asked, later = rng.sample(QUESTIONS, 2)
        s['question'], s['answer'] = asked.split('|')
        s['question2'] = later.split('|')[0]

    def unused(self, rule):
        """Returns an alternative of a rule, without repetition in a story while any is left (see --repeats)."""
        [(_, alternatives)] = [node for node in PARSED_RULES[rule] if node[0] == 'choice']
        if Story.repeats:
            return self.rng.choice(alternatives)
        if not self.left.get(rule):
            self.left[rule] = self.rng.sample(alternatives, len(alternatives))
        return self.left[rule].pop()

    def expand(self, nodes):
        out = []
        for node in nodes:
            if isinstance(node, str):
                out.append(node)
            elif node[0] == 'choice':
                out.append(self.expand(self.rng.choice(node[1])))
            else:
                name = node[1]
                key = name[0].lower() + name[1:]
                if key in self.slots:
                    value = self.slots[key]
                elif key in ('free', 'filler'):
                    value = self.expand(self.unused(key)).strip()
                else:
                    value = self.expand(PARSED_RULES[key]).strip()
                if name[0].isupper():
                    value = value[:1].upper() + value[1:]
                out.append(value)
        return ''.join(out)

    def gaps(self, text):
        """Returns positions of the blanks between two sentences, outside quotation marks."""
        return [m.start() for m in re.finditer(r'(?<=[.!?"]) (?=["A-Z])', text)
                if text.count('"', 0, m.start()) % 2 == 0 and not text.endswith(TITLES, 0, m.start())]

    def add_fillers(self, text):
        for gap in reversed(self.gaps(text)):
            if self.rng.random() < 0.05:
                text = text[:gap] + ' ' + self.expand(self.unused('filler')).strip() + text[gap:]
        return text

    def start_late(self, text):
        """Some stories start in the middle, as a prompt may."""
        gaps = [g for g in self.gaps(text) if g < 0.4 * len(text)]
        if not gaps or self.rng.random() > 0.25:
            return text
        late = text[self.rng.choice(gaps) + 1:]
        first, _, rest = late.partition(' ')
        return self.slots['hero'] + ' ' + rest if first == self.slots['he'].capitalize() else late

    def text(self):
        paragraphs = [re.sub(r' +', ' ', self.expand(p)).strip() for p in self.plot.paragraphs]
        merged = [paragraphs[0]]
        for paragraph in paragraphs[1:]:
            if not paragraph:
                continue
            # Some stories have one paragraph, some many short ones.
            if self.rng.random() < 0.35:
                merged[-1] += ' ' + paragraph
            else:
                merged.append(paragraph)
        text = self.start_late(self.add_fillers('\n'.join(merged)))
        text = re.sub(r' ([.,!?])', r'\1', text)
        return AN.sub(r'\1n ', text)


def stories(seed, plots, limit):
    """Yields distinct stories of 60 to 200 words until `limit` bytes."""
    rng = random.Random(seed)
    size = 0
    while size < limit:
        text = Story(rng, plots).text()
        if 60 <= len(text.split()) <= 200:
            size += len(text) + 9
            yield text


def write(path, seed, plots, limit):
    count = 0
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        for text in stories(seed, plots, limit):
            file.write(text + '\n<|end|>\n')
            count += 1
    return count


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--out', required=True)
    ap.add_argument('--plots', default=os.path.join(here, 'plots.txt'))
    ap.add_argument('--mb', type=float, default=30)
    ap.add_argument('--seed', type=int, default=1)
    ap.add_argument('--valid-kb', type=float, default=100)
    ap.add_argument('--valid-seed', type=int, default=2)
    ap.add_argument('--repeats', action='store_true', help='let free sentences occur again in a story')
    args = ap.parse_args()
    Story.repeats = args.repeats
    plots = read_plots(args.plots)
    os.makedirs(args.out, exist_ok=True)
    n_train = write(os.path.join(args.out, 'train.txt'), args.seed, plots, args.mb * 1e6)
    n_valid = write(os.path.join(args.out, 'valid-marked.txt'), args.valid_seed, plots, args.valid_kb * 1e3)
    # The plain validation text for evaluation tools: stories in sequence.
    with open(os.path.join(args.out, 'valid-marked.txt'), encoding='utf-8') as file:
        plain = file.read().replace('<|end|>\n', '\n')
    with open(os.path.join(args.out, 'valid.txt'), 'w', encoding='utf-8', newline='\n') as file:
        file.write(plain)
    print('%d weighted plots, %d stories, %d held out' % (len(plots), n_train, n_valid))


if __name__ == '__main__':
    main()
