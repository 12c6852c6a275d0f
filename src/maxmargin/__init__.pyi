from maxmargin import losses as losses
from maxmargin.displays.agreement import AgreementDisplay as AgreementDisplay
from maxmargin.displays.boundary import BoundaryDisplay as BoundaryDisplay
from maxmargin.displays.convergence import ConvergenceDisplay as ConvergenceDisplay
from maxmargin.errors import ConvergenceWarning as ConvergenceWarning
from maxmargin.estimators.least_squares import LeastSquaresClassifier as LeastSquaresClassifier
from maxmargin.estimators.linear_classifier import LinearClassifier as LinearClassifier
from maxmargin.estimators.linear_svm import LinearSVM as LinearSVM
from maxmargin.estimators.logistic_regression import LogisticRegression as LogisticRegression
from maxmargin.inputs.load import load_data as load_data
from maxmargin.inputs.save import save_data as save_data
from maxmargin.learners.gradient_descent import gradient_descent as gradient_descent
from maxmargin.losses.reference_margin import reference_margin as reference_margin
from maxmargin.losses.risk import empirical_risk as empirical_risk
from maxmargin.results.certificate import Certificate as Certificate
from maxmargin.results.descent import DescentTrace as DescentTrace
from maxmargin.training.certify import certify as certify
from maxmargin.training.compare import compare as compare
from maxmargin.training.files import load_model as load_model
from maxmargin.training.files import save_model as save_model
from maxmargin.training.model import LinearModel as LinearModel
from maxmargin.training.reference_margin import fit_reference_margin as fit_reference_margin
from maxmargin.training.scales import C_from as C_from
from maxmargin.training.train import train as train

__version__: str
