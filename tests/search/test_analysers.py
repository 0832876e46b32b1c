import itertools

import numpy as np
import pytest
from datasets import Dataset
from search_calls import ranking

from patent_mteb.experiments.run import run
from patent_mteb.models import load
from patent_mteb.search.analysers import analyser_of, analyser_of_corpus, terms_of
from patent_mteb.search.bm25 import SETTINGS, BM25Index, bm25
from patent_mteb.search.passages import Passages
from patent_mteb.tasks.selection import task_named

TEXTS = {
    "bm25s": "A pump with a valve that is closed by the spring, and a sensor for the pressure.",
    "german": "Eine Pumpe mit einem Ventil, das von der Feder geschlossen wird, und ein Fühler für den Druck.",
    "french": "Une pompe avec une soupape qui est fermée par le ressort, et un capteur pour la pression.",
    "spanish": "Una bomba con una válvula que se cierra por el muelle y un sensor para la presión del agua.",
    "italian": "Una pompa con una valvola che è chiusa dalla molla, e un sensore per la pressione del liquido.",
    "portuguese": "Uma bomba com uma válvula que é fechada por uma mola, e um sensor para a pressão do líquido.",
    "dutch": "Een pomp met een klep die door de veer wordt gesloten, en een sensor voor het meten van de druk.",
    "danish": "En pumpe med en ventil, som er lukket af fjederen, og en føler til måling af tryk ved udløbet.",
    "swedish": "En pump med en ventil som är stängd av fjädern, och en givare för att mäta tryck vid utloppet.",
    "finnish": "Pumppu, joka on suljettu jousella, ja anturi, joka mittaa painetta sekä lämpötilaa.",
    "polish": "Pompa, która jest zamykana przez sprężynę, oraz czujnik do pomiaru ciśnienia na wylocie.",
    "turkish": "Bir yay ile kapatılan bir vana ve basınç için bir sensör içeren pompa.",
    "vietnamese": "Một máy bơm với van được đóng bằng lò xo và cảm biến cho áp suất của chất lỏng trong ống.",
    "russian": "Насос с клапаном, который закрывается пружиной, и датчик для измерения давления на выходе.",
    "ukrainian": "Насос із клапаном, що закривається пружиною, та датчик для вимірювання тиску на виході.",
    "greek": "Μια αντλία με βαλβίδα που κλείνει από το ελατήριο και αισθητήρας για την πίεση του υγρού.",
    "arabic": "مضخة مع صمام يغلق من خلال الزنبرك ومستشعر على المخرج في الأنبوب",
    "persian": "یک پمپ با شیر که از فنر بسته می شود و حسگر برای فشار در خروجی است",
    "hindi": "एक पंप जिसमें स्प्रिंग से बंद होने वाला वाल्व और दबाव के लिए सेंसर है",
    "slovak": "Čerpadlo s ventilom, ktorý je zatváraný pružinou, a snímač, ktorý meria tlak na výstupe pri prevádzke.",
    "slovene": "Črpalka z ventilom, ki ga zapre vzmet, in senzor za merjenje tlaka, ki je nameščen na izhodu.",
    "croatian": "Pumpa s ventilom koji se zatvara oprugom i osjetnik koji je na izlazu za mjerenje tlaka tekućine.",
    "serbian": "Пумпа са вентилом који се затвара опругом и сензор који је на излазу за мерење притиска.",
    "bulgarian": "Помпа с клапан, който се затваря от пружина, и датчик за измерване на налягането на изхода.",
    "catalan": "Una bomba amb una vàlvula que és tancada mitjançant la molla, i un sensor per a la pressió del líquid.",
    "estonian": "Pump, mis on suletud vedruga, ja andur, mida kasutatakse rõhu või temperatuuri mõõtmiseks.",
    "lithuanian": "Siurblys su vožtuvu, kuris uždaromas spyruokle, ir jutiklis, kuris matuoja slėgį arba temperatūrą.",
    "latvian": "Sūknis ar vārstu, ko aizver atspere, un sensors, kas mēra spiedienu vai temperatūru pie izejas.",
    "icelandic": "Dæla með loka sem er lokað af gormi, og skynjari sem er notaður til að mæla þrýsting við úttak.",
    "bigrams": "一种泵，包括由弹簧关闭的阀门，以及用于测量压力的传感器。",
    "words": "משאבה עם שסתום הנסגר באמצעות קפיץ וחיישן למדידת הלחץ ביציאה",
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_analyser_is_that_of_the_language(name):
    assert analyser_of([TEXTS[name]]) == name


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["ばねで閉じる弁を備えたポンプ。"], "bigrams"),
        (["스프링으로 닫히는 밸브를 갖는 펌프."], "bigrams"),
        (["ปั๊มที่มีวาล์วปิดด้วยสปริง"], "bigrams"),
        ([TEXTS["bm25s"]] * 300 + [TEXTS["bigrams"]] * 10, "bigrams"),  # few Chinese texts among many in English
        ([TEXTS["german"]] * 30 + [TEXTS["bigrams"]], "german"),  # whose terms are bigrams, too
        ([TEXTS["turkish"].replace("i", "İ").upper()], "turkish"),
        ([TEXTS["german"]] * 6 + [TEXTS["bm25s"]] * 4, "german"),
        (["变量 a v s z i o 的泵"], "bigrams"),
        (["Rotor XJ-7", "Stator 2B"], "bm25s"),  # names without function words: as before
        (["2-(4-chlorophenyl)-N-methylacetamide"], "bm25s"),
        ([""], "bm25s"),
        ([], "bm25s"),
    ],
)
def test_the_analyser_of_mixed_and_short_texts(texts, name):
    assert analyser_of(texts) == name


@pytest.mark.parametrize("step", [2, 3])
def test_texts_that_alternate_are_all_in_the_sample(step):
    languages = itertools.cycle(["bm25s"] * (step - 1) + ["bigrams"])
    texts = [TEXTS[language] for language, _ in zip(languages, range(2_000 * step), strict=False)]
    corpus = Dataset.from_dict({"id": [str(n) for n in range(len(texts))], "text": texts})
    assert analyser_of_corpus(corpus) == "bigrams"


def test_terms_of_several_scripts():
    assert terms_of("新型 pump-valve 阀。") == ["新型", "pump", "valve", "阀"]
    assert terms_of("ＬＥＤ表示装置２") == ["led", "表示", "示装", "装置"]  # wide letters; a digit alone is no term
    assert terms_of("센서의 값") == ["센서", "서의", "값"]
    assert terms_of("पानी का दबाव") == ["पानी", "का", "दबाव"]
    assert terms_of("Ölpumpe (10a)") == ["ölpumpe", "10a"]


def clauses(nouns, joined, glue, seed):
    """Documents of six nouns, and queries of five of them in another order."""
    draw = np.random.default_rng(seed)
    documents, queries = {}, {}
    for number in range(40):
        chosen = draw.choice(nouns, 6, replace=False)
        documents[f"d{number}"] = joined.join(f"{noun}{glue}" for noun in chosen)
        queries[f"q{number}"] = " ".join(f"{noun}{glue and '의'}" for noun in draw.permutation(chosen[:5]))
    return documents, queries


UNSPACED = {
    "Chinese": (
        "探针 催化剂 弹簧 轴承 天线 喷嘴 存储器 显示屏 风扇 传感器 控制器 电池 电极 齿轮 阀门 压缩机",
        "包括",
        "",
    ),
    "Japanese": (
        "探触子 触媒 軸受 アンテナ ノズル メモリ 表示装置 センサ 制御装置 電池 電極 歯車 圧縮機 薄膜",
        "を含む",
        "",
    ),
    "Korean": (
        "프로브 촉매 스프링 베어링 안테나 노즐 메모리 센서 배터리 전극 기어 밸브 압축기 박막",
        "를 포함하고 ",
        "와",
    ),
    "Thai": (
        "หัววัด สปริง ตลับลูกปืน เสาอากาศ หัวฉีด พัดลม เซ็นเซอร์ แบตเตอรี่ เฟือง วาล์ว ใบพัด ขั้วไฟฟ้า ฟิล์มบาง หน้าจอ",
        "ประกอบด้วย",
        "",
    ),
}


@pytest.mark.parametrize("language", UNSPACED)
def test_documents_of_languages_without_words_are_retrieved(language):
    nouns, joined, glue = UNSPACED[language]
    documents, queries = clauses(nouns.split(), joined, glue, seed=3)
    found = ranking(load("bm25"), documents, queries, top_k=5)
    hits = sum(f"d{query[1:]}" in list(documents_of)[:3] for query, documents_of in found.items())
    assert hits >= 36  # of 40


def test_words_of_a_language_are_stemmed():
    corpus = {f"d{n}": f"{TEXTS['german']} {word}" for n, word in enumerate(["Verbindungen", "Leitungen", "Schrauben"])}
    assert next(iter(ranking(load("bm25"), corpus, {"q": "Verbindung"})["q"])) == "d0"


def test_turkish_capitals_are_those_of_its_letters():
    index = BM25Index(["ROTORUN YATAĞI VE YAĞ İLETİMİ"], SETTINGS["turkish"])
    assert (index.scores(["yatağı", "rotorun", "iletimi"]).toarray() > 0).all()


def test_english_is_that_of_the_library():
    model, corpus = load("bm25"), {f"d{n}": text for n, text in enumerate(("a closed pump", "the pumps", "valves"))}
    assert ranking(model, corpus, {"q": "pump"}) == ranking(bm25("bm25s"), corpus, {"q": "pump"})
    named = model.named_for(Dataset.from_dict({"id": ["d"], "text": [TEXTS["bm25s"]]}))
    meta, expected = named.mteb_model_meta, bm25("bm25s").mteb_model_meta
    assert (meta.name, meta.revision, meta.experiment_name) == (
        expected.name,
        expected.revision,
        expected.experiment_name,
    )


def test_analysers_have_identities_of_their_own():
    metas = [bm25(name).mteb_model_meta for name in ("auto", "bigrams", "german", "french", "words", "bm25s", "dapfam")]
    assert len({(meta.name, meta.experiment_name) for meta in metas}) == len(metas)
    assert [meta.revision.endswith("_analysers-2") for meta in metas] == [True] * 5 + [False] * 2
    chinese = Dataset.from_dict({"id": ["d"], "text": [TEXTS["bigrams"]]})
    assert bm25("auto", k1=0.9).named_for(chinese).mteb_model_meta.name == "patent-mteb/bm25-bigrams-k1-0.9"
    assert bm25("auto", k1=0.9).named_for(chinese).settings.k1 == 0.9
    assert bm25("dapfam").named_for(chinese).settings == bm25("dapfam").settings


def test_passages_of_texts_without_words_are_windows_of_characters():
    text = "一种泵包括阀门" * 10
    documents = {"d1": text, "d2": "由弹簧关闭的传感器" * 3}
    model = Passages(load("bm25"), 20)
    assert [len(passage) for passage in model.splitter([{"text": text}])[0]] == [20, 20, 20, 10]
    assert list(ranking(model, documents, {"q": "弹簧传感器"})["q"]) == ["d2"]
    assert model.splitter.settings["tokenizer"] == "words-and-characters"
    assert Passages(bm25("dapfam"), 20).splitter.settings["tokenizer"] == "words"


@pytest.mark.slow
def test_a_result_has_the_name_of_the_analyser(tmp_path):
    task = task_named("PatentMapAbsToAbsRetrieval.sample")
    report = run(load("bm25"), [task], tmp_path, show_progress=False)
    plain = run(bm25("bm25s"), [task], tmp_path / "plain", show_progress=False)
    assert report.model == "patent-mteb/bm25-bm25s" == report.meta.name
    assert report.outcomes[0].main == plain.outcomes[0].main
    assert run(load("bm25"), [task], tmp_path, show_progress=False).outcomes[0].cached  # read again
    assert len(list(tmp_path.rglob("PatentMap*.json"))) == 2


def test_an_index_has_the_terms_of_its_analyser():
    texts = ["一种泵", "阀门"]
    assert BM25Index(texts, bm25("bigrams").settings).scores(["泵的阀门"]).nnz == 1
