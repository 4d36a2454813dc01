"""Generated agent names: adjective and noun, such as amber-otter (Operative Protocol §3.3).

A seed determines a sequence that contains each pair once. The same seed gives the same names, and ten thousand agents
with one seed do not collide. Names in use are skipped.
"""

from __future__ import annotations

from bb.kernel import ids
from bb.kernel.digest import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator

# Short, friendly words that are easy to tell apart.
ADJECTIVES = """
able agile airy alert amber ample apt arctic ashen autumn awake azure balmy bashful beige bold brave breezy bright
brisk bronze brown bubbly bumpy busy calm candid canny caring casual cedar cheery chief chilly chirpy civil classic
clean clear clever cloudy coastal cobalt comic cool copper coral cosmic cosy cozy crafty creamy crimson crisp cubic
curious curly cyan dainty dapper daring dazzling decent deep deft dewy diligent direct distant dizzy dreamy driven
dusky dusty eager early earnest earthy easy elder elegant elfin emerald epic equal even exact fabled fair faithful
famous fancy fast festive fiery fine firm fleet floral fluent fluffy flying foggy fond forest formal frank free fresh
frosty frugal fuzzy gallant gentle gifted giant gilded glad gleaming glossy golden good graceful grand grateful great
green gritty hale handy happy hardy hasty hazel hazy hearty helpful hidden hilly holy honest hopeful humble icy ideal
indigo inner ivory jade jaunty jazzy jolly jovial joyful keen khaki kind kindly large late lavender lawful leafy lean
level light lilac limber lime linen lively local lofty loyal lucid lucky lunar magenta magic major maple marble marine
mellow merry mighty mild mindful minty misty modern modest mossy muddy musical mustard neat nifty nimble noble
northern novel oaken ochre olive open opal orange orderly outer patient peach pearly peppy perky pine pink placid
plucky plum polar polite prime proud prudent pure purple quaint quick quiet radiant rainy rapid rare ready real regal
relaxed robust rosy round royal ruby rugged rural russet rustic saffron sandy sapphire scarlet scenic secret serene
sharp shiny shy silent silken silver simple sincere sleek sleepy slender smart smooth snappy snowy snug social soft
solar solemn solid sonic sound southern spare spicy spry stable stately steady stellar stoic stormy strong sturdy
subtle sunny super supple sure swift tall tame tangy tawny teal tender thrifty tidy timely tiny topaz tranquil trim
true trusty tulip twin umber upbeat urban useful valiant vast velvet violet vital vivid walnut warm wary watchful wavy
western white wild willing windy winter wise witty woolen worthy young zany zesty zippy
"""

NOUNS = """
acorn adder agate alcove alder alpaca anchor anvil apple apricot arbor arch armory arrow aspen aster atlas atoll
aurora avocet badger bagel balcony bamboo banjo barge barley basalt basil basin basket bay beacon beaver beech beetle
bell birch bison bittern blossom bluff boulder branch breeze bridge brook buckle buffalo bugle burrow butte button
buzzard cabin cactus camel canal canary candle canoe canyon carp carrot castle cavern cello chalk channel cherry
chestnut cicada citadel citrus clam cliff clover coast cobra coil comet compass condor cove coyote crab cradle crane
crater creek cricket crow crystal cuckoo curlew current cypress dahlia daisy dale dawn deer delta desert dingo dolphin
donkey dove dragon drift drum dune eagle easel echo eel egret elk elm ember ermine estuary falcon fennel fern ferret
ferry fiddle field finch fjord flame flint flute fossil fox frigate frog galaxy galleon gannet garden garnet gazelle
gecko geyser ginger glacier glade glen goat goose gopher gorge grange granite grape grotto grouse grove gull hamlet
hammock harbor hare harp harrier hawk heath hedge heron hickory hill hollow honey horizon hornet horse hound ibex ibis
iguana inlet iris island isle jackal jaguar jasmine jasper jay jetty jungle juniper kayak kelp kestrel kettle kite
kiwi knoll koala ladder lagoon lake lantern larch lark laurel leaf ledge lemon lemur lichen lily linnet lion lizard
llama lobster locket lodge lotus lynx magnet magpie mallard mango mantis marlin marmot marsh marten mast meadow medal
melon merlin mesa meteor mill mink minnow mole moon moose moraine moss moth mountain mule myrtle narwhal nebula nectar
needle nest newt nickel nutmeg oak oasis oboe ocean ocelot onyx orbit orchard orchid oriole osprey otter owl oyster
paddle palm panda panther parrot pasture path peacock pebble pelican penguin pepper perch petal petrel pheasant piano
pigeon pike pillar pine pixel plain planet plateau plover pond pony poplar poppy porch porpoise possum prairie prism
puffin puma quail quarry quartz quill quince rabbit raccoon radish raft raven ravine reed reef ridge river robin
rocket rook root rose rudder sable sage sail salmon sandpiper satchel savanna seal sequoia shark shell shore shrew
shrike skiff skua skylark slate sloth snail snipe sparrow spider spire spring spruce squid squirrel stag starling
stone stork storm stream summit swallow swan swift tapir teapot tern terrace thicket thistle thrush tide tiger timber
toad torch tower trail trout tulip tundra tunnel turtle valley vine viola violin vireo vole wagon walrus warbler wave
weasel whale wharf wheat willow wind wolf wombat wood wren yarrow yew zebra zephyr zinnia
"""


def free(seed: str, taken: Container[str]) -> str:
    """The first name in SEED's sequence that is not TAKEN."""
    return next(name for name in sequence(seed) if name not in taken)


def sequence(seed: str) -> Iterator[str]:
    """All names in the order of SEED: first all pairs, then the pairs with an additional adjective in front."""
    yield from _pairs(seed)
    for adjective in _words(ADJECTIVES):
        for pair in _pairs(seed):
            if not pair.startswith(f"{adjective}-"):
                yield f"{adjective}-{pair}"


def _pairs(seed: str) -> Iterator[str]:
    """All pairs, each once: a step width that is coprime to the number of pairs visits each of them."""
    adjectives, nouns = _words(ADJECTIVES), _words(NOUNS)
    count = len(adjectives) * len(nouns)
    chance = int(digest(seed.encode("utf-8", "surrogatepass")), 16)
    place, step = chance % count, chance // count % count
    while _divisor(step, count) != 1:
        step += 1
    for _ in range(count):
        adjective, noun = adjectives[place // len(nouns)], nouns[place % len(nouns)]
        if adjective != noun and ids.is_agent_id(f"{adjective}-{noun}"):
            yield f"{adjective}-{noun}"
        place = (place + step) % count


def _words(text: str) -> list[str]:
    return text.split()


def _divisor(one: int, other: int) -> int:
    """The greatest common divisor."""
    while other:
        one, other = other, one % other
    return one
