"""Assertions in sentences of clinicians: a letter says what is expected of the findings in brackets."""

from __future__ import annotations

import re

import pytest
from tests.growth import LINEAR, growth

from linnet.data import Document, Mention, Span
from linnet.errors import DataError
from linnet.pipeline import Sentences
from linnet.pipeline.context import Context

EXPECTED = {
    "affirmed": """
In his mother's presence he had a [seizure]. In the family meeting we discussed his [ataxia].
Bei der Mutter ist eine Epilepsie bekannt, bei dem Patienten besteht eine [Ataxie].
Bei der Mutter unauffälliger Befund, beim Kind [Ataxie].
Bei der Mutter lebend, seit gestern [Fieber]. Er lebt bei den Großeltern und hat [Asthma].
He was born to a mother with diabetes and developed [jaundice].
He was born to a mother with diabetes, developed [jaundice].
Infant of a mother with diabetes presented with [hypoglycaemia].
Eine [Skoliose] liegt vor, vermutlich vor drei Jahren begonnen. [Ataxia] is present.
Vorerkrankungen: Seit 2010 [Hypertonie], Pneumonie.
Nach Angaben der Mutter seit gestern [Fieber].
Laut Angaben seiner Eltern [Fieber] und [Husten].
Nach Aussage der Ehefrau [Fieber]. In Begleitung der Mutter mit [Husten].
Von der Mutter wird [Fieber] berichtet. Von den Eltern wurde [Husten] berichtet.
Den Eltern fiel eine [Hypotonie] auf.
Seit Mai ist den Eltern eine [Hypotonie] aufgefallen.
A girl born to consanguineous parents had [microcephaly] and [seizures].
A boy born to non-consanguineous, healthy parents had [microcephaly].
The child of unrelated parents had [ataxia]. Third child of healthy parents, [seizures].
The son of healthy, unrelated parents has [ataxia].
Erstes Kind gesunder Eltern mit [Krampfanfällen].
Die Tochter gesunder, nicht verwandter Eltern hat eine [Ataxie].
He was born to a mother with diabetes mellitus and had [microcephaly].
Born to his mother in May, with [seizures].
Currently no medication for [migraine].
He takes no drugs for [epilepsy].
No surgery for [scoliosis]. No drugs or surgery for [scoliosis].
No further treatment for [hypothyroidism] is needed.
She has never had surgery for [scoliosis], and had no treatment for [hypothyroidism].
No underlying cause for the [seizures] was found.
Keine Medikamente gegen [Epilepsie].
Keine medikamentöse Therapie der [Hypertonie], kein Fieber.
Keine Ursache der [Epilepsie] gefunden.
Ohne Therapie der [Hypertonie].
Denies fever and reports [cough].
She denies fever and currently complains of [cough].
He has no seizures and suffers from [migraine].
There were no seizures and [ataxia] was mild.
No fever and the [cough] is worse.
No fever and since yesterday [cough].
Er hatte keine Krampfanfälle und wurde mit [Fieber] aufgenommen.
Der Patient hat kein Fieber und klagt über [Husten].
Kein Fieber und der trockene [Husten] hat zugenommen.
Kein Fieber und seit gestern [Husten].
He has a brother with autism and presents with [seizures].
He has two brothers with autism and has [seizures].
She has a strong family history of migraine and presents with [seizures].
Er hat einen älteren Bruder mit Autismus und stellte sich mit [Krampfanfällen] vor.
[Hypertension] is treated with ramipril.
Her [epilepsy] is treated with valproate.
[Migraine] is being treated.
[Hypertension], which is treated with ramipril.
[Pneumonia] is treated with amoxicillin.
His [seizures] are well treated, and [migraine] is currently being treated.
She is being treated for [pneumonia].
FH: nil of note. [Seizures] started at age 2.
Family history: unremarkable. [Seizures] since age 2.
Familienanamnese: unauffällig. In der Untersuchung zeigte sich eine [Ataxie].
PMH: nil. [Cough] for 3 days.
Side effects: none. [Seizures] since 2010.
He has [ataxia] and [ptosis]. She has neither.
He has [ataxia] and [ptosis]; she has neither.
I asked about [cleft palate] and [hearing loss]. He has a sister.
She has [epilepsy] and I asked about fever and rash; she has neither.
She has [epilepsy]. I asked about fever and rash. She has neither.
He has [ataxia] and [ptosis]. She has neither fever nor rash.
He has [ataxia] and [ptosis]; she has neither fever nor rash.
Cardiology follow-up for her [cardiomyopathy].
Seen in clinic for [epilepsy].
[Mikrozephalie] zur Abklärung.
[Epilepsie], zur weiteren Abklärung stationär.
[Mikrozephalie] zur Abklärung und [Ataxie].
[Epilepsie] zur Abklärung stationär, [Fieber] oder [Husten].
hx of [high blood pressure], [high cholesterol] and [heart disease]
hx of [raised serum cholesterol]
[Fieber]-, Husten- und Schnupfensymptomatik
Keine Allergien, [ADHS] bekannt.
Keine Dyspnoe, [Ödeme] +
Keine Dyspnoe, [Ödeme] vorhanden
No dyspnea, [edema] +, rest normal.
Fever -, clubbing -ve, [edema] +ve, [cough] +
She has [seizures] - last in May.
She has had [seizures] -
keine Epilepsie, [ADHS] bekannt
Kein Fieber, [Asthma] bekannt, keine ADHS.
Sie ist gesund, keine Allergien, [ADHS] bekannt.
Keine Allergien, bekannte [ADHS].
No allergies, known [ADHD].
Mother and father are worried about his [hearing loss].
Wie ihr Bruder hat sie eine [Kardiomyopathie].
Like her brother, she has [cardiomyopathy].
Like her brother she has [cardiomyopathy].
Die Patientin stellte sich zur Abklärung eines [Kleinwuchses] vor.
Referred for assessment of [developmental delay].
Referred for investigation of [short stature].
Vorstellung zur Abklärung eines [Kleinwuchses].
Cardiology review for known [VSD].
Cardiology review for her [VSD].
[Weight loss] a concern.
She was given buccal midazolam for [seizures].
Died of [SUDEP].
Her Down syndrome is associated with [hypothyroidism].
Die [Epilepsie] geht mit [Fieber] einher.
Her [epilepsy] is associated with [developmental delay].
No rash, [eczema] of the left arm.
No rash, [eczema] in the elbow creases.
Haut: 2 [Café-au-lait-Flecken], kein Exanthem, [Ekzem] in den Ellenbeugen.
Pregnancy: normal. This girl has [epilepsy].
Geburt: spontan. Das Mädchen zeigt einen [Nystagmus].
Schwangerschaft: Gestationsdiabetes. Auffällig sind eine [Ptosis] und ein [Hypertelorismus].
Schwangerschaft: unauffällig. Der Junge hat eine [Epilepsie] und ist [kleinwüchsig].
Mat hx: nil. Today [rash].
Maternal hx: migraine on topiramate. Patient has [epilepsy].
Die Genetik wegen [Epilepsie] liegt noch nicht vor.
[Seizures] have occurred, fever has not occurred.
[Krampfanfälle] liegen bei der Patientin vor.
[Aszites]: keine Punktion nötig.
Herz: kein Befund; [Aszites].
[Rash], [fever], headache resolved.
[Rash]. [Fever]; headache, cough - resolved.
[Asthma], [diabetes], rash - resolved
[Prematurity], VSD - repaired
[Speech delay], regressed at 2 years
[Autism], he regressed
[Pleuraerguss] rückläufig.
Die [Ödeme] sind rückläufig.
Eigenanamnese: Die Patientin klagt über [Fieber] und [Husten].
Eigenanamnese: Klagt seit gestern über [Fieber].
Vorerkrankungen: keine. Die Patientin hat [Fieber].
[Fieber] laut Angaben der Mutter.
[Frühgeburt] bei Präeklampsie der Mutter.
Bei [Fieber] seit drei Tagen erfolgte die Aufnahme.
Bei [Fieber] wurde sofort eine Antibiose begonnen.
Bei [Pleuraerguss] Punktion geplant.
Bei [Fieber] Wiedervorstellung am Vortag in der Ambulanz.
Bei [Fieber] und Husten erfolgte Wiedervorstellung.
[Fieber], Wiedervorstellung.
Bei bekannter [Epilepsie] bitte Rücksprache.
Keine höhergradigen Vitien, geringe [Mitralinsuffizienz].
Kein Aszites, kleiner [Pleuraerguss] rechts.
Keine Luftnot, trockener [Husten].
No chest pain, [dry cough].
No stenosis, trivial [edema].
No oedema, large [goitre].
I would be grateful if you could see this man with [haematuria].
Echo: no thrombus, [LA severely dilated], no effusion.
No new lesion, [liver edge 3 cm], shifting dullness absent.
Vorerkrankungen: Schlaganfall ohne Residuen, [Herzinsuffizienz].
PMH: [diverticulosis], [hyperparathyroidism].
He presented with a two week history of [cough].
He has [asthma].
[Anaemia] prob chronic disease.
No change in her [cough].
Not only [ataxia] but also [dysarthria] was noted.
ROS negative except for [fatigue].
[Fever] due to possible pneumonia.
He denies alcohol but has [cirrhosis].
Chest: bilateral [crackles], no wheeze.
Mother reports [vomiting] since yesterday.
According to his wife he has [memory loss].
Parents taught how to treat [fever].
[Anastomotic leakage] on day 5.
Her sister accompanied her. She has [migraine].
PMH: [hypertension], [type 2 diabetes].
[Epilepsy] since childhood.
[Hypertension], well controlled.
No doubt she has [migraine].
Laut Mutter bestehen [Kopfschmerzen].
Bekannter [Diabetes mellitus Typ 2].
She was diagnosed with [epilepsy] in 2010, seen 2024.
The [pain] started last year.
The [cough] is not settling.
The treatment has not helped his [pain].
Mum is worried about his [speech delay].
She gets [chest pain] when she climbs stairs.
MRI in 2019 showed [cerebellar atrophy], seen 2024.
PMH: [AF] on apixaban.
ECG: murmur as before, [ejection murmur] not heard in 2022, seen 2024.
FHx: mother has hypertension. Pt himself c/o [chest pain] and [fever] since Monday.
Family history: mother has migraine. Patient has [seizures] today.
FHx: nil. Presents with [rash].
PMHx: T2DM. Presents today with [chest pain].
DDx: LGMD. He has [ptosis].
[ADHD] (query ASD)
Vorerkrankungen: Epilepsie. Aktuell [Hautausschlag].
[Fever], no AS.
Wife found him [confused].
Known [gout], no IT band pain.
[CRP 212]↑ trop neg
[Hb 98]↓ Na 138, now normal.
[CRP 80] ↑, urate normal today.
V.a. Pneumonie, [Asthma] bekannt.
V.a. Pneumonie, bekannte [Migräne].
Z.n. Apoplex, [chronische Niereninsuffizienz].
She takes Zn for [diarrhea].
Low Zn and [seizures], Zn 12 [tremor].
Z.n. Apoplex, [Niereninsuffizienz] bekannt.
No SOB, [chest pain] since yesterday.
Keine Dyspnoe, [Thoraxschmerz] seit gestern.
Abdo: no tenderness, Chest: [wheeze], CVS: [murmur].
Chest clear, no wheeze, [ankle oedema] ++.
No murmurs, [pitting oedema] to knees.
Mutter hat Migräne, Patientin hat [Asthma].
Suspected Marfan syndrome: [tall stature], [arachnodactyly].
Salbutamol prn, [hypertension].
PMHx: HTN, [CKD3b].
Nan: "she [snores] like a bear and [forgets things]".
Uncle filmed her: [jerking], [drooling].
Grandma: he [limps] after football.
Dad: "he's [tired]". Dads video: he [stares].
Granddad, who fears the worst, says he [coughs].
Aunt: call if he needs us. [Eczema] flares.
Z. n. Appendizitis, Z. n. Ulkus, [Coxarthrose] links.
Amoxil for 5/7, [gout], cough (none since Easter).
Hold ramipril until [AKI] resolves.
Avoid NSAIDs for [back pain].
Low mood and [fatigue]; both not resolved.
He was [dizzy], now worse.
We discussed his [obesity].
[Acne], [eczema] since May, fever: nil.
Awaiting [hernia] repair.
The [nodule] described previously is stable.
Diagnosis of [asthma] explained
Poss cause of [hyponatraemia]: bendroflumethiazide.
He has a [rash] but it is not itchy.
There is a [murmur] but this is not significant.
She has [anxiety], which they are not treating.
[Anxiety], which they are not treating
[Cough], which she has not mentioned.
[Headaches] have eased, so it is not that bad.
Mother: he [snores].
Mum tells us: "[snores] all night".
Parents: she [wheezes] at night.
[Afebrile seizures]
[Acyanotic heart disease]
[Nontender lymphadenopathy]
Der [Husten] geht nicht weg.
[Schmerzen] noch nicht weg.
[Asthma] bestand nicht erst seit gestern.
Her [asthma] is now well under control.
[Ptosis] now well established.
[VSD] now well seen on echo.
[Diabetes], now fine with diet.
[Aortic stenosis], now asymptomatic.
[Pneumonia], now afebrile on day 2 of antibiotics.
[Asthma], now well.
Seen in allergy clinic: [eczema], [asthma].
Peanut allergy - [asthma] as well.
Diagnoses: nut allergy - [eczema] - [asthma]
Cow's milk allergy: [eczema] flares still.
[Proteinuria] and urine culture clear.
Admitted with [sepsis], culture clear.
We discussed [chorea].
We discussed how [fatigue] affects her.
We discussed [weight loss] strategies as she has [obesity].
We discussed management of the [migraine].
[Weight loss] explained.
Results showing [fibrosis] explained.
The [rash] remains to be explained.
Diazepam 2 mg for [back pain]
Lorazepam 1 mg for [anxiety]
VE: cervix 3 cm, [vaginal bleeding].
No swelling lt. [Rash] on arm.
No hepatitis B. Bed [sores] on the heels.
PMH [asthma], [eczema]: nil else.
[Fatigue], [weight loss]: none to report otherwise.
[Asthma], [eczema] - nil acute.
[Asthma], [eczema] - nil new.
She was always [anxious], now seeing a psychologist.
Was [drowsy], now comatose.
He was [seizing] on arrival, now intubated.
[COPD], quit with help of nurse.
She cannot recall the [head injury].
The GP raised her [insulin resistance].
Kids at school tease him about his [tics].
Seen for allergy test - [wheeze] after.
Mum and Dad: he [snores].
Dad's film: he [stares].
Nut allergy - rash, [wheeze] today.
""",
    "negated": """
Kein Erguss und eine [Fraktur] wurde nicht gesehen. [Tumoren] wurden nicht gesehen.
Kein Erguss und ein [Tumor] wurde nicht gefunden. Ein [Tremor] zeigte sich nicht.
[Metastasen] wurden nicht nachgewiesen. Auch [Ödeme] zeigten sich nicht.
No surgery, [fever] or [cough].
No [drug allergy]. No [insulin resistance].
No [fever] requiring treatment. No specific [rash].
No treatment for epilepsy, no [fever]. No antibiotics and no [cough].
Keine Operationen, [Fieber], [Husten].
Keine weitere [Epilepsie].
no [fever] and [cough]
kein [Fieber] und [Husten]
Keine Zeichen der [Pneumonie] und der [Sepsis].
No [seizures] and [ataxia] were noted. No [fever] and [cough] was noted.
Does not complain of [fever] and [cough].
Denies [fever] and reports no [cough].
Eine [Epilepsie] wurde am 12. Juni ausgeschlossen.
Der Patient verneint seit dem 12. März [Fieber].
Weder am 3. Mai [Fieber] noch [Husten].
Kein Anhalt f. [Epilepsie].
Keine Zeichen i. S. einer [Meningitis].
[Romberg -ve].
[Gowers -ve], tone normal.
A [tuber], which he does not have.
[Fieberkrämpfe] seien nie aufgetreten.
[Dyspnoe] -
[Fever]: -
[Fever]:-, cough (+)
[Fever] -, cough +, [rash] –, [clubbing] -ve; [wheeze] (-)
No [fever], [cough] + [vomiting].
Asked about [cleft palate] and [hearing loss]; she has neither.
I asked about [cleft palate] and [hearing loss]. He has neither.
We asked her about [fever], [rash] and [cough]. She has none of these.
Keine [Allergien] bekannt.
Keine [Allergien] oder [ADHS] bekannt.
Keine [Allergien], [Asthma] oder [ADHS] bekannt.
Keine [Allergien], [Asthma], [ADHS] bekannt.
Keine [Allergien], [Asthma] und [ADHS] bekannt.
Keine [Allergien], [ADHS] nicht bekannt.
Es sind keine [Allergien], [ADHS] bekannt.
No [fever],, [gout].
[Ödeme]: keine mehr.
[Krampfanfälle]: keine seit Mai.
Undescended [testes] n/a
Anders als ihr Bruder hat sie keine [Kardiomyopathie].
Unlike her brother, she has no [cardiomyopathy].
Unlike her brother she has no [cardiomyopathy].
She has neither [fever] nor [rash].
[Fever] and [rash] were asked about, she has neither.
No [pain] in the left arm, [swelling] of the left leg.
No [pain], [swelling], [weakness] of the left arm.
No [pain], [swelling] or [weakness] of the left arm.
Denies [headache], [weakness] of the left arm.
No [fever], [rash] on trunk.
No [fever], [rash] on trunk or [vomiting].
[Krampfanfälle] traten bisher nicht auf.
[Krampfanfälle] liegen aktuell nicht vor.
[Krampfanfälle] liegen bei der Patientin nicht vor.
[Krampfanfälle] sind bisher nicht aufgetreten.
[Seizures] did not occur.
[Seizures] have not yet occurred.
[Seizures] have not occurred.
Abdomen: kein Hinweis auf [Aszites].
[Fieber]: kein
[Fieber]: keine.
[Aszites]: kein Nachweis.
Neurologisch: kein [Nystagmus], kein [Strabismus].
Haut: kein [Ikterus], keine [Zyanose].
Pulmo: keine [Dyspnoe].
Abdomen: kein [Aszites].
Ausschluss [Lungenembolie] (CT 15.10).
Ausschluss eines [Myokardinfarkts].
Keine Rötung, kleinen [Wunden] oder Ödeme.
Kein Fieber, trockener [Husten] oder Luftnot.
No fever, [productive cough] or dyspnoea.
Denies fever, [productive cough].
No fever, [dry cough] and wheeze.
No haemoptysis, [productive cough], weight loss.
No free fluid or [bowel obstruction].
No fracture, free fluid or [pneumothorax].
No evidence of free gas or [bowel perforation].
She is [chest pain] free on nitrates.
[Chest pain] free.
Fever, no [AS] on echo.
[Phaeo] screen neg.
[Herzgeräusch] nicht hörbar.
She denied any [palpitations] or [syncope].
Blood tests ruled out [diabetes].
No formal [thought disorder].
Schluckbeschwerden werden verneint, ebenso [Fieber] und [Nachtschweiß].
No [fever], [chills] or [night sweats].
Patient denies [chest pain], [dyspnea], and [palpitations].
[Hepatomegaly] was not present.
[Pneumothorax]: absent
[Rash] - none
[Meningitis] was ruled out by lumbar puncture.
MRI was negative for [stroke].
Neither [cyanosis] nor [clubbing] was seen.
Mother denies any [fever].
HOCM was queried in the past: [hypertrophic cardiomyopathy] was suspected but excluded by MRI.
Kein [Fieber], keine [Krampfanfälle].
[Übelkeit] wird verneint.
Ohne Anhalt für [Lungenembolie].
He hasn't had any [fits].
[Calf pain] she denies, and there is more.
Screened for [diabetes] - negative.
ø [fever]
You have not coughed up blood or passed [black stools].
No [focal deficit].
[JVP not raised].
[Aszites] nicht nachweisbar.Neg: [earache], [sore throat], [SOB]
Pertinent negatives: [rigors], [night sweats].
[Weight loss], [fevers], [sweats]: nil.
[Nausea], [vomiting] - none
[Earache], [discharge], [vertigo] all denied.
[Fieber], [Husten]: nein.
Felt it was [wind], which it was not.
Thought of a [hypo] - BM 8.1, so not that.
[VSD] queried at 20 weeks: septum intact.
I had wondered about [mumps] but the PCR was negative.
Not (yet) [diabetic].
Abdomen soft, [anicteric].
PCR negative for [flu].
[Sickle cell] screening clear.
[Gout flare] never developed.
Dont think he is [depressed].
I dont think these are [seizures].
FH: aunt epilepsy. Child himself: no [bruising].
Side effects: no [nausea].
Einen [Infarkt] schlossen wir laborchemisch aus.
[Blut im Stuhl] bei Aufnahme verneint.
[Sclerae anicteric].
[Fieber] bestand nicht.
[Covid] swab came back negative.
[Fatigue], [weight loss]: none to report.
She cannot recall any [head injury].
""",
    "uncertain": """
Eine [Epilepsie] liegt möglicherweise vor. Eine [Skoliose] liegt bei ihm vermutlich vor.
[Ataxia] is possibly present. [Tremor] is probably there.
Eine [Skoliose] ist anzunehmen. Es liegt möglicherweise eine [Epilepsie] vor.
Eine [Skoliose] ist vermutlich vorhanden.
No treatment for possible [pneumonia].
EEG zur Abklärung von [Epilepsie] und [Ataxie].
Mikrozephalie zur Abklärung eines [Rett-Syndroms].
R/o [fever],, [gout].
Vorstellung zur Abklärung bei Verdacht auf [Epilepsie].
Referred for investigation of possible [Marfan syndrome].
MRT zur Abklärung einer [Epilepsie].
[Retinopathy] has not been looked for.
Cardiology review for [cardiomyopathy].
Ophthalmology referral for [cataract].
Ophthalmology review for [coloboma].
CT zum Ausschluss [Lungenembolie].
Bitte um Ausschluss einer [Lungenembolie].
Ausschluss [Lungenembolie]?
DD Asthma, [chronic bronchitis].
V.a. Pneumonie, [Lungenembolie].
Unlikely [MI].
Suspected diagnosis: [gout].
Liver palpable. [Ascites] ?. Pitting oedema.
I doubt that this is [angina].
V. a. [Schlafapnoe].
An [adenomyosis] may be there as well.
?[TIA]
[TIA]?
Findings are consistent with [sarcoidosis].
[Pulmonary embolism] cannot be excluded.
CT to rule out [appendicitis].
[Rheumatoid arthritis] unlikely.
Left [Ménière's disease] (probable)
Differential diagnosis: [lupus], [sarcoidosis], [tuberculosis].
Verdacht auf [Epilepsie].
V.a. [Pneumonie].
Either [asthma] or [bronchitis].
[Lymphoma] remains a concern.
The picture would fit with [vasculitis].
[Coeliac] screen sent.
Swab for [chlamydia] sent.The radiologist raised [lymphoma].
Sono: fragl. [Aszites].
School wonders if he is [dyslexic].
[PE] queried: CTPA awaited.
FH: mum gout. ?[gout]
I thought of [angina], but it was not exertional.
""",
    "family": """
Seitens der Mutter [Diabetes], seitens des Vaters [Gicht]. Seitens der Mutter ist ein [Diabetes] bekannt.
Bei der Mutter [Gicht], [Asthma] und [Migräne].
Nach Angaben der Mutter leidet der Vater an [Epilepsie].
Bei den Eltern [Epilepsie]. Von der Mutter ist eine [Gicht] bekannt.
Der Mutter geht es gut, der Vater hat [Epilepsie]. [Gicht] der Mutter.
He was born to a mother with [diabetes mellitus] and had microcephaly.
Born at term to a 34-year-old mother with [hypothyroidism].
Infant of a mother with [hypothyroidism]. Baby of a young mother with [epilepsy].
The mother of healthy parents had [ataxia]. Her parents had [gout].
Daughter not well, [epilepsy]. The daughter of her uncle has [ataxia].
Verwandter mit [Epilepsie]. Kind einer Mutter mit [Gicht].
He has an older brother with [autism], [epilepsy] and [migraine], who is well.
Her brother has [autism] and presents with [seizures].
He has a brother who has [autism] and has [seizures].
FH: nil of note. No [seizures].
FH: nil of note, [gout] in an uncle.
FH: nil of note. Mum has [epilepsy].
Die Mutter hatte im 3. Lebensjahr [Krampfanfälle].
Bei der Mutter wurde im 2. Trimenon eine [Hypertonie] festgestellt.
Bei der Mutter ist eine [Epilepsie] bekannt.
Mum has [migraine] and calls if she has [headache].
Unlike her brother with [cardiomyopathy] she is well.
Like her mother her brother has [cardiomyopathy].
Febrile [convulsions] denied in sibs.
Paternal history: [migraine], now on topiramate.
Mat hx: [hypothyroidism] on levothyroxine.
Maternal history: [epilepsy] on valproate.
Maternal hx: [hypothyroidism] on levothyroxine, [migraine]. Also [asthma].
Frühgeburt bei [Präeklampsie] der Mutter.
[Diabetes mellitus] des Vaters.
Maternal GM: [T2DM], [breast ca].
First child died at 9 months of [liver failure].
Family history: mother has migraine. The patient's sister has [asthma].
Her mother has [breast cancer].
Family history of [colon cancer].
[Epilepsy] in his brother.
FHx: mat uncle [CHD], otherwise neg for [birth defects].
Nobody in the family has [Marfan syndrome].
Familienanamnese: [Diabetes] beim Vater.
Lives with her husband, who has [dementia].
Two of her sisters have [hypothyroidism].
As far as she knows nobody has had [epilepsy].
Daughter "has [Crohns]".
Father has [gout]: he takes allopurinol.
Mother: she has [migraine].
Mother (45): her [diabetes] is poorly controlled.
Father: "[heart attack]" at 50.
Mutter: sie hat [Migräne].
Father's sister: she has [gout].
Mother has [gout]: he is well.
Kids have [flu].
Mother (45) has [gout]: he helps.
Mother has [gout]: "he worries".
""",
    "hypothetical": """
Call if she has [fever] and complains of [pain].
Parents have been advised to return if there is recurrence of [headache] or [visual loss].
Mum to bring him back if there is [vomiting].
Die Eltern sollen sich bei [Erbrechen] oder [Fieber] sofort vorstellen.
Die Eltern wurden über das Risiko eines [SUDEP] aufgeklärt.
Bei [Fieber] Paracetamol geben.
VGB stopped ([visual field constriction] a concern)
Has buccal midazolam 5 mg for [seizures].
Rescue: buccal midazolam for [seizures] >5 min.
[SUDEP] discussed.
Noonan syndrome can cause [bleeding].
Das Kabuki-Syndrom geht mit [Immundefekt] und [Hörstörung] einher; diese Befunde liegen bei der Patientin nicht vor.
Kabuki syndrome is associated with [immunodeficiency] and [hearing loss]; she has neither.
Bei [Fieber] Gefahr von [Krampfanfällen].
Bei [Harnwegsinfekt] bitte Rücksprache.
Bei [Blutungen] oder [Fieber] bitte sofort melden.
Bei [Fieber] und [Ataxie] Wiedervorstellung.
Procedere: bei [Luftnot] umgehend Notaufnahme.
Paracetamol prn for [pain], metformin bd.
SE discussed: [weight gain], [osteoporosis].
Enoxaparin as [VTE] prophylaxis for 28 days.
Review in 6 weeks, sooner for [swelling] or [confusion].
Consented re [pancreatitis], [bleeding].
Call 999 for [chest pain].
Return if [fever] or [vomiting].
Risk of [bleeding] and [infection] was explained.
To be seen again should [leg weakness] or [incontinence] develop.
Paracetamol prn for [pain].
Aspirin to prevent [stroke].
Bei Bedarf Paracetamol gegen [Schmerzen].
I have warned him about [drowsiness] and [weight gain].
Told to ring us the same day for [jaundice] or a [rash].
Not with NSAIDs ([AKI] risk).
Most people with [asthma] live a normal life.
Midazolam for [seizures] lasting more than five minutes.
Safety net: [weakness], [incontinence].
Annual [retinopathy] screening.Consent talk incl. [bleeding], [infection].
Consent: [perforation], [bleeding].
Team to be called at once for [seizures] or [apnoea].
Tropfen b. Bed. bei [Ohrenschmerzen], kühlen.
Parents: come to ED if he [wheezes].
Es droht ein [Ileus].
We discussed the risks of [stroke] and [bleeding].
Side effects of [weight gain] and [drowsiness] explained.
[Weight gain] and [drowsiness] as side effects explained.
Lorazepam 1 mg for [seizures].
Midazolam 5 mg for prolonged [fits].
""",
    "historical": """
Vorerkrankungen: Seit 20 Jahren Hypertonie, [Herzinfarkt] 2012, [Pneumonie].
Vorerkrankungen: Seit 2010 Hypertonie, [Pneumonie].
First child of healthy parents, [microcephaly] at birth.
Die [Leistenhernie] bestand seit Jahren und wurde im Mai operiert.
Die [Pneumonie] trat im Mai auf und ist abgeklungen.
[Pneumonia] was treated, and [cellulitis] had been treated with flucloxacillin.
[Pneumonia] was being treated. He was being treated for [cellulitis].
[Pneumonia], which was treated with amoxicillin.
[Pneumonia] is successfully treated.
PMH: unremarkable. [Febrile convulsion] at 1.
He developed [hyperglycaemia] and [oedema] on steroids, both of which normalised after the dose was reduced.
Z.n. [Pneumonie],, [Hepatitis].
Geburtsanamnese: Sie ist in der 30. Woche geboren, [Apnoen].
Geburt: spontan. Der Junge hat eine [Sepsis] gehabt.
Schwangerschaft: [Gestationsdiabetes]. Das Mädchen ist spontan geboren, [Hyperbilirubinämie].
[Seizures] have not recurred.
Cushingoid, [striae], [weight gain] - resolved
[Rash], [fever], [headache] - resolved.
[Jaundice], [itching]: resolved
s/p hysterectomy for [fibroids]
s/p nephrectomy for [renal calculi]
[ROP stage 2], regressed
[Postnatal depression] 1975
[Pleuraerguss] vollständig rückläufig.
Eigenanamnese: [Appendizitis], [Masern].
Vorgeschichte: [Appendizitis].
[K 5.9] ↑, now normal.
[BP] ↓ overnight, now resolved.
[K] ↓ for 3 days, now resolved.
[CRP 120] ↑↑ now normal.
[Leukozyten 14] ↑, inzwischen normalisiert.
[CRP raised] yesterday, normal today.
Z.n. Pneumonie, [Schlaganfall].
Previously [chest infections], none in the last 12 months.
PMH: asthma. Admitted 2015 with [pneumonia].
Prev [stroke], prev [DVT].
Z. n. [Hepatitis].
Her [vomiting] has completely resolved.
AKI? [Fever] on admission, but this resolved.
PMH: [gallstones] s/p cholecystectomy.
History of [pneumonia].
He had [febrile seizures] as a child.
[Rash] has resolved.
She had [appendicitis] in 2005, seen 2019.
PMH: [pneumonia], [fracture of the arm], [gestational diabetes].
Allergies: latex ([hives]).
Z.n. [Schlaganfall].
Diagnosen: Zn [Schlaganfall] 2010, Diabetes.
He used to [snore].
The [night sweats] went within a fortnight.
He had one [febrile convulsion] at fourteen months.
What mattered was an attack in January during which her hand [went numb].
[Rash] (on the arms), normal since day 6.
[Hepatitis] due to pyrazinamide, resolved off it.
Stopped: ramipril ([cough]).
Could not tolerate ramipril ([cough]).
Stopped metformin because of [diarrhoea].
[Chest pain] last month, none since.
He was born at 32 weeks with [respiratory distress].
Admitted w/ [fever] & [rigors], both gone since day 3.
Last month's [floaters] and [flashes], both of which have now stopped.
At New Year he [saw cats], never since.
[Epistaxis] x1, quit with pressure.
[Acute kidney injury] after contrast, peak creatinine 210, resolved.
[Chest pain], no ECG changes, gone with GTN.
[Cellulitis]: 5 days of fluclox, CRP down, settled.
He was [constipated] on codeine, now regular.
[Line sepsis] d15, lines changed.
[Rash] has now faded.
Penicillin allergy – [rash] + [lip swelling].
Penicillinallergie ([Exanthem])
Reaction to codeine: [hives].
Passager [Delir].
Maternal history: [GDM].
[Otitis], folgenlos abgeheilt.
Nut allergy - [rash], wheeze today.
[Schmerzen] wieder weg.
[Fieber] bestand nicht mehr.
[Pneumonia] in May, now well.
Allergic to nuts: [hives], [wheeze].
Procedure: [hernia] repair
He was [confused], now much better.
""",
}
CASES = [(said, line) for said, lines in EXPECTED.items() for line in lines.strip().splitlines()]
BRACKETS = re.compile(r"\[([^]]*)\]")


def marked(line: str, **fields: object) -> Document:
    """Return a line as a document with what stands in brackets as its mentions."""
    ends, text = [], ""
    for place, part in enumerate(BRACKETS.split(line)):
        ends += [(len(text), len(text) + len(part))] * (place % 2)
        text += part
    return Document("x", text, mentions=tuple(Mention(*span, **fields) for span in ends))  # type: ignore[arg-type]


def read(doc: Document, component: Context | None = None) -> list[str]:
    [out] = (component or Context())(Sentences()([doc]))
    return [mention.assertion for mention in out.mentions or ()]


@pytest.mark.parametrize(("said", "line"), CASES)
def test_what_clinicians_write(said: str, line: str) -> None:
    assert set(read(marked(line))) == {said}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_minus_at_the_end_of_a_line_may_be_a_dash(newline: str) -> None:
    letter = "She has [seizures] -\nlast in May.\n[Cough] -\ndry.\n[Rash] -\n[Fever] +\n"
    assert read(marked(letter.replace("\n", newline))) == [
        "affirmed",
        "affirmed",
        "negated",
        "affirmed",
    ]


@pytest.mark.parametrize(
    ("letter", "said"),
    [
        ("Family\u00a0history: [migraine]", "family"),
        ("Fever\u00a0?[sepsis]", "uncertain"),
        ("-\u00a0?\u00a0[OSA]", "uncertain"),
        ("Kei\u00adne [Ataxie]", "negated"),
        ("He de\u00adnies [sei\u00adzures]", "negated"),
        ("[Krampfanfa\u0308lle] sind mo\u0308glich", "uncertain"),
    ],
)
def test_signs_that_nobody_sees(letter: str, said: str) -> None:
    assert read(marked(letter)) == [said]


def test_sections_of_a_text_with_signs_that_nobody_sees_are_where_they_stand() -> None:
    doc = marked("HIS\u00adTORY\n[Fits].\n\nPlan: EEG.")
    [out] = Context()(Sentences()([doc]))
    assert [doc.text[one.start : one.end] for one in out.passages] == ["HIS\u00adTORY\nFits.\n\n", "Plan: EEG."]


def test_a_list_below_its_first_line() -> None:
    assert read(marked("There is no evidence of:\n- [fever]\n- [rash]\nPlan: rest, [cough] syrup")) == [
        "negated",
        "negated",
        "affirmed",
    ]


def test_a_line_that_was_wrapped() -> None:
    letter = (
        "Since her last visit she has felt tired but denies chest\n[pain], palpitations, [syncope] or shortness of\n"
        "breath. She has occasional [ankle swelling] after long shifts, and at\nage 19 she was treated for\n"
        "endocarditis, from which she made a full recovery."
    )
    assert read(marked(letter)) == ["negated", "negated", "affirmed"]


def test_a_family_section_ends_where_the_letter_goes_on() -> None:
    letter = "Family history:\nFather [gout], no [epilepsy].\n\nShe herself has [migraine].\nExam: [ptosis]."
    assert read(marked(letter)) == ["family", "family", "affirmed", "affirmed"]


@pytest.mark.parametrize(
    ("letter", "said"),
    [
        ("FH: nil\n[Cough] and [fever].", ["affirmed"] * 2),
        ("[Staring spells] at school.", ["affirmed"]),
        ("FH nil\r\n[Cough] for 3 days.", ["affirmed"]),
        ("Familienanamnese: leer\n[Krampfanfälle] seit 2 Jahren.", ["affirmed"]),
        # a long line may be wrapped
        ("FA: Mutter litt an Hypertonie, der Vater an insulinpflichtigem und schwerem\n[Asthma] mit 30.", ["family"]),
        ("Family history:\nNil of note.\n[Seizures] since age 2.", ["affirmed"]),
        ("FHx: dad had [MI] at 50\n[Seizures] since age 2", ["family", "affirmed"]),
        ("FHx: dad had [MI] at 50\nMum [seizures] since age 2", ["family"] * 2),
        ("FHx: dad had [MI],\n[Seizures] since age 2", ["family"] * 2),
        ("FHx: dad had [MI] and\n[Seizures] since age 2", ["family"] * 2),
        ("FHx: dad had\nsudden [deafness] at age 2", ["family"]),
        ("FHx: dad [gout]\n[Diabetes]\n[Asthma]", ["family"] * 3),
        ("FHx: [breast cancer] at 40\n[Ovarian cancer] at 50", ["family"] * 2),
    ],
)
def test_a_family_history_on_one_line(letter: str, said: list[str]) -> None:
    assert read(marked(letter)) == said


def test_words_of_a_finding_are_no_triggers() -> None:
    assert read(marked("[Absent speech] and [ataxia].")) == ["affirmed", "affirmed"]
    assert read(marked("[Family history of cancer], [obesity].")) == ["affirmed", "affirmed"]


def test_in_a_plan_some_words_say_something_else() -> None:
    plan = "- Paracetamol bei [Kopfschmerzen]\n- Marcumar bei [Vorhofflimmern]\n- Penicillin bei [Scharlach]"
    letter = f"Procedere:\n{plan}\nBefund:\nErguss bei [Fieber]"
    assert read(marked(letter)) == ["hypothetical", "affirmed", "affirmed", "affirmed"]
    assert read(marked("PSH: [hernia] repair.\nPlan\n- [hernia] repair")) == ["historical", "affirmed"]


def test_a_label_in_an_item_of_a_list_speaks_of_that_item() -> None:
    letter = "Plan\n1. Bed rest. Risks: [clots], [sores]\n2. MRI to exclude [discitis]\n3. Cream for [eczema]"
    assert read(marked(letter)) == ["hypothetical", "hypothetical", "uncertain", "affirmed"]


def test_short_forms_of_headings_have_a_full_stop() -> None:
    assert read(marked("Vorerkr.: Migräne.\nAllerg.: Novalgin ([Angioödem])\nBefund: [Exanthem]")) == [
        "historical",
        "affirmed",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Seit 2 Tagen [Fieber] und [Husten].",
        "Seit zwei Tagen [Fieber], [Husten] und [Durchfall].",
        "Seit gestern [Fieber].",
        "Seit Montag [Fieber] und [Husten].",
        "[Fieber] und [Husten] seit zwei Tagen.",
    ],
)
def test_what_lasts_since_then_is_there_below_a_past_history(line: str) -> None:
    assert set(read(marked(f"Vorerkrankungen: keine\n{line}"))) == {"affirmed"}


def test_a_consent_ends_with_its_line() -> None:
    assert read(marked("Consent: [bleeding].\n[Hernia] visible on the right.")) == ["hypothetical", "affirmed"]


def test_a_maternal_history_tells_of_the_pregnancy() -> None:
    assert read(marked("Mat hx: [GDM], [asthma].\n\nO/E [jaundice]")) == ["historical", "family", "affirmed"]


def test_relatives_are_known_by_their_names() -> None:
    letter = "He came with his mum Nerys. Nerys says he [snores]. Nerys has [dyslexia]."
    assert read(marked(letter)) == ["affirmed", "family"]


def test_headings_before_two_blanks_and_in_capitals() -> None:
    letter = "PMH  [appendicitis]\nFH  dad [gout]\nOE  [rash]\nPMHx [tonsillitis]"
    assert read(marked(letter)) == ["historical", "family", "affirmed", "historical"]


def test_headings_and_names_are_no_findings() -> None:
    letter = "[Allergies]: none known\nSeen by Dr. T. [Falls], [Epilepsy] Support Group.\n[Epilepsy]: no fits."
    assert read(marked(letter)) == ["affirmed"]
    assert len(read(marked(letter), Context(headings="keep"))) == 4


def test_a_short_form_in_the_label_of_a_screening_is_no_finding() -> None:
    assert read(marked("[ROP] screening: no [ROP]")) == ["negated"]
    assert len(read(marked("[TB] screening negative"))) == 1


def test_a_worry_of_a_relative_is_no_finding() -> None:
    assert read(marked("Mother is [worried] about [deafness] in this baby.")) == ["uncertain"]
    assert read(marked("Father is very [worried] about [autism].")) == ["uncertain"]
    assert read(marked("Mum is [worried] about his [speech delay].")) == ["affirmed"]
    assert read(marked("He is [worried] and his mother has [gout].")) == ["affirmed", "family"]


def test_sections_become_passages_where_there_are_none() -> None:
    doc = marked("HISTORY\n[Fits].\n\nPlan: EEG.")
    [out] = Context()(Sentences()([doc]))
    assert [(one.kind, doc.text[one.start : one.end]) for one in out.passages] == [
        ("present", "HISTORY\nFits.\n\n"),
        ("plan", "Plan: EEG."),
    ]


def test_only_some_are_kept() -> None:
    doc = marked("No [fever]. [Cough]. ?[Asthma].")
    assert read(doc, Context(only=["affirmed", "uncertain"])) == ["affirmed", "uncertain"]
    with pytest.raises(DataError, match="only 'denied' is none of affirmed, negated"):
        Context(only=["denied"])  # type: ignore[list-item]
    with pytest.raises(DataError, match="'mark' is neither 'drop' nor 'keep'"):
        Context(headings="mark")  # type: ignore[arg-type]


def test_what_people_said_stays() -> None:
    doc = marked("No [fever], no [cough].", source="gold", assertion="affirmed")
    assert read(doc, Context(only=["negated"])) == ["affirmed", "affirmed"]


def test_discontinuous_mentions_and_sentences_without_words() -> None:
    text = "No ears small, low set. …"
    doc = Document("x", text, mentions=(Mention(3, 22, parts=(Span(3, 7), Span(15, 22))), Mention(24, 25)))
    assert read(doc) == ["negated", "affirmed"]


def test_time_grows_with_the_text() -> None:
    def work(size: int) -> object:
        return read(marked("- no [rash], [fever] or possible cough and " * size))

    assert growth(work, 1000) < LINEAR


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("No family history of gout.", True),
        ("Family history negative for gout.", True),
        ("Family history is negative for gout.", True),
        ("Gout denied in sibs.", True),
        ("Her mother has gout.", False),
    ],
)
def test_what_relatives_do_not_have_is_told(text: str, denied: bool) -> None:
    at = text.lower().index("gout")
    [doc] = (Sentences() >> Context())([Document("a", text, mentions=(Mention(at, at + 4),))])
    [mention] = doc.mentions or ()
    assert (mention.assertion, mention.meta.get("denied", False)) == ("family", denied)
